/* A board of 32 x 32 dots on which strokes are drawn with a round pen, by mouse, finger
   or keys. */
"use strict";

globalThis.Playground ??= {};
{
  const DOTS = 32;
  const STEP = 2; // dots that an arrow key moves the pen
  const KEYS = {
    ArrowLeft: [-STEP, 0],
    ArrowRight: [STEP, 0],
    ArrowUp: [0, -STEP],
    ArrowDown: [0, STEP],
  };

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

  Object.assign(Playground, { Board });
}
