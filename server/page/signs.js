// The signs on buttons.

import { svg } from "./dom.js";

const SIGNS = {
  again: "M20 11a8 8 0 1 0-2.3 6.3M20 4v7h-7", edit: "M4 20h4L19 9l-4-4L4 16z", on: "M6 5l9 7-9 7zM19 5v14",
  copy: "M9 9h11v11H9zM6 15H4V4h11v2", branch: "M7 4v16M7 15c0-5 10-3 10-9M14 8l3-3 3 3",
  why: "M12 3a6 6 0 0 1 3.5 10.9V17h-7v-3.1A6 6 0 0 1 12 3zM9.5 21h5", more: "M5 12h.01M12 12h.01M19 12h.01",
  list: "M4 7h16M4 12h16M4 17h16", plus: "M12 5v14M5 12h14", close: "M6 6l12 12M18 6L6 18",
  cue: "M8 20l8-16", people: "M17 20c0-3-2-5-5-5s-5 2-5 5M12 12a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
  settings: "M4 8h9M17 8h3M4 16h3M11 16h9M15 5.5v5M9 13.5v5", back: "M19 12H5M11 6l-6 6 6 6", down: "M7 10l5 5 5-5",
  pin: "M12 16v5M8 4h8l-1 6 3 4H6l3-4z", done: "M5 13l4 4L19 7",
  delete: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13", before: "M14 6l-6 6 6 6", next: "M10 6l6 6-6 6",
};

export const sign = (name) => svg("svg", { viewBox: "0 0 24 24", class: "sign", "aria-hidden": "true" }, svg("path", { d: SIGNS[name] }));
