/* From strokes of a pen on a board of 32 x 32 dots to 8 x 8 pixels.

   The images of the data set were made by programs of NIST: they scaled each digit to
   32 dots in height and to 20 in width, took out its slant, and made its lines thicker
   where there was little ink, and thinner where there was much. Then the dots were
   counted in squares of 4 x 4, so that a pixel is a number from 0 to 16. Strokes have
   no thickness, so a pen is chosen here that leaves as much ink as a training image
   has. A digit narrower than 20 dots stays so: a bare line would become a square.

   `toolkit/drawing.py` does the same, so that a chapter can measure it. */
"use strict";

globalThis.Playground ??= {};
{
  const [DOTS, PIXELS, PEN] = [32, 8, 4.5]; // PEN: diameter, in dots
  const [WIDE, HIGH] = [20, 32]; // room for a digit, in dots
  const INK = 310; // dots that a training image covers, on average
  const [THINNEST, THICKEST] = [4, 10]; // diameters of a pen that makes so much ink
  const STEEPEST = 1; // dots to the side for each dot up: more is no slant
  const BAND = 0.1; // of the height: where the ends of a digit are looked for
  const NEARLY = 1e-9; // distances that differ by less are equal

  /** 1 for each dot that the pen has covered. A stroke is a list of points [x, y]. */
  function rasterise(strokes, pen = PEN) {
    return covered(distances(strokes), (pen / 2) ** 2);
  }

  const covered = (squares, limit) =>
    Uint8Array.from(squares, (square) => Number(square <= limit + NEARLY));

  /** The square of the distance from each dot's centre to the nearest stroke. */
  function distances(strokes) {
    const squares = new Float64Array(DOTS * DOTS).fill(Infinity);
    for (const [[ax, ay], [bx, by]] of lines(strokes)) {
      const [dx, dy] = [bx - ax, by - ay];
      const long = dx * dx + dy * dy || 1;
      squares.forEach((nearest, i) => {
        const [x, y] = [(i % DOTS) + 0.5 - ax, Math.floor(i / DOTS) + 0.5 - ay];
        const t = Math.max(0, Math.min(1, (x * dx + y * dy) / long));
        const [right, down] = [x - t * dx, y - t * dy];
        squares[i] = Math.min(nearest, right * right + down * down);
      });
    }
    return squares;
  }

  /** The lines of which strokes consist; a single point is a line to itself. */
  function lines(strokes) {
    return strokes.flatMap((stroke) =>
      stroke.map((end, n) => [stroke[Math.max(0, n - 1)], end]),
    );
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

  /** The dots of a drawing that is made upright, large and as thick as the data set's. */
  function normalise(strokes) {
    const squares = distances(fit(upright(strokes)));
    const enough = squares.toSorted()[INK - 1];
    const limit = Math.max((THINNEST / 2) ** 2, Math.min((THICKEST / 2) ** 2, enough));
    return covered(squares, limit);
  }

  /** Strokes sheared until the left ends of their top and of their bottom are in line. */
  function upright(strokes) {
    const [top, bottom] = extent(strokes.flat().map(([, y]) => y));
    const band = BAND * (bottom - top);
    const high = leftmost(strokes, top, top + band);
    const low = leftmost(strokes, bottom - band, bottom);
    const slant = (high[0] - low[0]) / (low[1] - high[1] || 1);
    const lean = Math.max(-STEEPEST, Math.min(STEEPEST, slant));
    return strokes.map((stroke) => stroke.map(([x, y]) => [x + lean * y, y]));
  }

  /** The leftmost point of strokes between two heights. */
  function leftmost(strokes, top, bottom) {
    let found = [Infinity, 0];
    for (const [[ax, ay], [bx, by]] of lines(strokes)) {
      const from = Math.max(Math.min(ay, by), top);
      const to = Math.min(Math.max(ay, by), bottom);
      const at = (y) => [ax + ((bx - ax) * (y - ay)) / (by - ay), y];
      const ends = ay === by ? [[ax, ay], [bx, by]] : [at(from), at(to)];
      for (const end of from <= to ? ends : []) {
        found = end[0] < found[0] ? end : found;
      }
    }
    return found;
  }

  /** Strokes as high as the board and no wider than a digit may be, in its middle. */
  function fit(strokes) {
    const points = strokes.flat();
    const [left, right] = extent(points.map(([x]) => x));
    const [top, bottom] = extent(points.map(([, y]) => y));
    const down = (HIGH - PEN) / (bottom - top || 1);
    const across = Math.min(down, (WIDE - PEN) / (right - left || 1));
    const place = (value, low, high, scale) => DOTS / 2 + scale * (value - (low + high) / 2);
    return strokes.map((stroke) =>
      stroke.map(([x, y]) => [place(x, left, right, across), place(y, top, bottom, down)]),
    );
  }

  const extent = (values) => [Math.min(...values), Math.max(...values)];

  Object.assign(Playground, { rasterise, pixels, normalise });
}
