import { html, type Html } from "../html.ts";

/** Numbers over time as columns, drawn by the server: the table below has the same for readers. */

export type Column = { readonly key: string; readonly value: number };

const width = 640;
const height = 140;
/** Of its place, so that neighbours stay apart. */
const filled = 0.8;
/** What is not nothing can be seen. */
const least = 2;

export function renderChart(label: string, columns: readonly Column[]): Html | string {
  const most = Math.max(0, ...columns.map(({ value }) => value));
  if (most === 0) return "";
  const [first, last] = [columns[0], columns.at(-1)];
  // What is read aloud is the label, and the table; the drawing stretches, and texts must not.
  return html`<div class="charted">
    <p class="scale" aria-hidden="true">${most.toLocaleString("en")}</p>
    ${drawColumns(label, columns, most)}
    <p class="scale ends" aria-hidden="true">
      <span>${first?.key}</span> <span>${last?.key}</span>
    </p>
  </div>`;
}

function drawColumns(label: string, columns: readonly Column[], most: number): Html {
  const step = width / columns.length;
  return html`<svg
    class="chart"
    viewBox="0 0 ${width} ${height}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${label}"
  >
    <line class="ground" x1="0" x2="${width}" y1="${height}" y2="${height}" />
    ${columns.map(({ key, value }, place) => {
      const tall = value === 0 ? 0 : Math.max(least, (value / most) * height);
      const x = (place + (1 - filled) / 2) * step;
      return html`<rect
        x="${x.toFixed(2)}"
        y="${(height - tall).toFixed(2)}"
        width="${(step * filled).toFixed(2)}"
        height="${tall.toFixed(2)}"
      >
        <title>${key}: ${value.toLocaleString("en")}</title>
      </rect>`;
    })}
  </svg>`;
}
