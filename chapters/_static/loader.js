/* What comes later: scripts that are loaded when somebody needs them, each once, and work
   that waits until its place is near. They are scripts, even where they hold only data,
   because a page that is a file may read nothing else. */
"use strict";

globalThis.Loader = (() => {
  const scripts = new Map(); // promises, by address

  /** Load a script, unless that was done; after a failure, the next call tries again. */
  function script(address) {
    const { href } = new URL(address, document.baseURI);
    if (!scripts.has(href)) {
      scripts.set(href, new Promise((done, failed) => {
        const made = document.createElement("script");
        made.src = href;
        made.onload = done;
        made.onerror = () => {
          scripts.delete(href);
          failed(new Error(`${href} could not be loaded`));
        };
        document.head.append(made);
      }));
    }
    return scripts.get(href);
  }

  /** Do something with each of some elements once it is this close to the window. */
  function whenNear(elements, pixels, act) {
    const watch = new IntersectionObserver((changes) => {
      for (const { isIntersecting, target } of changes) {
        if (isIntersecting) {
          watch.unobserve(target);
          act(target);
        }
      }
    }, { rootMargin: `${pixels}px 0px` });
    for (const element of elements) {
      watch.observe(element);
    }
  }

  return { script, whenNear };
})();
