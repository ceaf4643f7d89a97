/* A board of 32 x 32 dots on which strokes are drawn with a round pen, by mouse, finger
   or keys, and the way from there to 8 x 8 pixels.

   The images of the data set went the same way: their 32 x 32 dots were counted in
   squares of 4 x 4, so that a pixel is a number from 0 to 16. */
"use strict";

globalThis.Playground ??= {};
{
  const [DOTS, PIXELS, PEN] = [32, 8, 4.5]; // PEN: diameter, in dots
  const STEP = 2; // dots that an arrow key moves the pen
  const KEYS = {
    ArrowLeft: [-STEP, 0],
    ArrowRight: [STEP, 0],
    ArrowUp: [0, -STEP],
    ArrowDown: [0, STEP],
  };

  /** 1 for each dot that the pen has covered. A stroke is a list of points [x, y]. */
  function rasterise(strokes) {
    const dots = new Uint8Array(DOTS * DOTS);
    for (const stroke of strokes) {
      stroke.forEach((end, n) => {
        const begin = stroke[Math.max(0, n - 1)];
        dots.forEach((_, i) => {
          const centre = [(i % DOTS) + 0.5, Math.floor(i / DOTS) + 0.5];
          if (distance(centre, begin, end) <= PEN / 2) {
            dots[i] = 1;
          }
        });
      });
    }
    return dots;
  }

  /** How far a point is from the line between two others. */
  function distance([x, y], [ax, ay], [bx, by]) {
    const [dx, dy] = [bx - ax, by - ay];
    const along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1);
    const t = Math.max(0, Math.min(1, along));
    return Math.hypot(x - ax - t * dx, y - ay - t * dy);
  }

  /** 64 numbers from 0 to 1: the share of dots covered in each square of 4 x 4. */
  function pixels(dots) {
    const side = DOTS / PIXELS;
    const image = new Float32Array(PIXELS * PIXELS);
    dots.forEach((dot, i) => {
      const [down, right] = [Math.floor(i / DOTS), i % DOTS];
      const pixel = Math.floor(down / side) * PIXELS + Math.floor(right / side);
      image[pixel] += dot / side ** 2;
    });
    return image;
  }

  /** Strokes as high as the board and in its middle, as the data set's digits are. */
  function fit(strokes) {
    const points = strokes.flat();
    const [left, right] = extent(points.map(([x]) => x));
    const [top, bottom] = extent(points.map(([, y]) => y));
    const room = DOTS - PEN;
    const scale = Math.min(room / (bottom - top || 1), room / (right - left || 1));
    const place = (value, low, high) => DOTS / 2 + scale * (value - (low + high) / 2);
    return strokes.map((stroke) =>
      stroke.map(([x, y]) => [place(x, left, right), place(y, top, bottom)]),
    );
  }

  const extent = (values) => [Math.min(...values), Math.max(...values)];

  /** Lets a reader draw on a canvas.

      @param {HTMLCanvasElement} canvas  32 x 32
      @param {HTMLElement} pen  shows where the keyboard's pen is
      @param changed  called with true when a stroke is complete, false while it grows
      @param say  called with what the keyboard's pen did, in words */
  class Board {
    constructor(canvas, pen, changed, say) {
      Object.assign(this, { canvas, pen, changed, say, strokes: [], image: null });
      this.at = [DOTS / 2, DOTS / 4]; // the keyboard's pen
      this.isDown = false;
      canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        this.begin(this.pointOf(event));
      });
      canvas.addEventListener("pointermove", (event) => {
        if (canvas.hasPointerCapture(event.pointerId)) {
          this.goOn(this.pointOf(event), false);
        }
      });
      canvas.addEventListener("lostpointercapture", () => this.changed(true));
      canvas.addEventListener("keydown", (event) => this.press(event));
      this.showPen();
    }

    pointOf(event) {
      const box = this.canvas.getBoundingClientRect();
      return [
        ((event.clientX - box.left) / box.width) * DOTS,
        ((event.clientY - box.top) / box.height) * DOTS,
      ];
    }

    begin(point) {
      this.strokes.push([point]);
      this.changed(false);
    }

    goOn(point, complete) {
      this.strokes.at(-1).push(point);
      this.changed(complete);
    }

    /** Take back the last stroke, or all. */
    undo(all = false) {
      this.strokes = all ? [] : this.strokes.slice(0, -1);
      this.isDown = false;
      this.changed(true);
    }

    press(event) {
      if (event.key === " ") {
        this.isDown = !this.isDown;
        if (this.isDown) {
          this.begin([...this.at]);
        }
      } else if (event.key in KEYS) {
        const within = (value) => Math.max(STEP, Math.min(DOTS - STEP, value));
        this.at = this.at.map((value, axis) => within(value + KEYS[event.key][axis]));
        if (this.isDown) {
          this.goOn([...this.at], true);
        }
      } else if (event.key === "Backspace") {
        this.undo();
      } else {
        return;
      }
      event.preventDefault();
      this.showPen();
      const [column, line] = this.at.map((value) => value / STEP);
      const pen = this.isDown ? "down" : "up";
      this.say(`Pen ${pen}, row ${line}, column ${column} of 15`);
    }

    showPen() {
      this.pen.style.left = `${(100 * this.at[0]) / DOTS}%`;
      this.pen.style.top = `${(100 * this.at[1]) / DOTS}%`;
      this.pen.classList.toggle("is-down", this.isDown);
    }

    /** Draw numbers from 0 (paper) to 1 (ink), as many as fit a square. */
    show(image) {
      const side = Math.sqrt(image.length);
      const context = this.canvas.getContext("2d");
      image.forEach((ink, i) => {
        context.fillStyle = `rgb(${Array(3).fill(Math.round(255 * (1 - ink)))})`;
        const size = DOTS / side;
        context.fillRect((i % side) * size, Math.floor(i / side) * size, size, size);
      });
    }
  }

  Object.assign(Playground, { rasterise, pixels, fit, Board });
}
