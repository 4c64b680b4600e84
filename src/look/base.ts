/** The CSS that all pages share: type, cards, tags and messages. */
export const base = `
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: var(--text)/1.5 var(--font); }
h1 { font-size: var(--title); line-height: 1.25; font-weight: 650; letter-spacing: -.01em;
  margin: 0; overflow-wrap: anywhere; }
h2 { font-size: var(--large); line-height: 1.35; font-weight: 600; margin: 0; }
h3 { font-size: var(--text); font-weight: 600; margin: 0; }
p { margin: 0; overflow-wrap: anywhere; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; text-underline-offset: .15em; }
p a { text-decoration: underline; text-underline-offset: .15em; }
code, pre { font-family: var(--mono); font-size: .8125rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.soft { color: var(--soft); } .number { font-variant-numeric: tabular-nums; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.icon { width: 1rem; height: 1rem; flex: none; fill: none; stroke: currentColor;
  stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
.mark { width: 1.375rem; height: 1.375rem; vertical-align: -.3rem; margin-right: .25rem; }
.mark rect { fill: var(--brand); } .mark path { fill: #fff; stroke: #fff; stroke-width: 1.2; }
.brand { font-weight: 650; font-size: 1rem; color: var(--ink); letter-spacing: -.01em; }
.brand:hover { text-decoration: none; }

.alone { max-width: 27rem; margin: 0 auto; padding: var(--s6) var(--s4); }
.alone .brand { margin: 0 0 var(--s4); }
.alone .card { display: grid; gap: var(--s4); padding: var(--s5);
  grid-template-columns: minmax(0, 1fr); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: var(--rounder);
  box-shadow: var(--shade); min-width: 0; }

.tag { display: inline-block; font-size: .75rem; font-weight: 550; line-height: 1.25rem;
  padding: 0 var(--s2); border-radius: 1rem; background: var(--well); color: var(--soft);
  white-space: nowrap; }
.tag.good { background: var(--good-soft); color: var(--good); }
.tag.busy { background: var(--accent-soft); color: var(--accent); }
.tag.grave { background: var(--grave-soft); color: var(--grave); }
progress { width: 100%; height: .5rem; accent-color: var(--accent); }
.note, .fault, .warning { border-radius: var(--round); padding: var(--s3) var(--s4);
  border: 1px solid var(--line); background: var(--well); }
.note.good { background: var(--good-soft); border-color: transparent; color: var(--good); }
.fault { background: var(--grave-soft); border-color: transparent; color: var(--grave); }
.warning { background: var(--warn-soft); border-color: var(--warn-line); color: var(--ink);
  margin-top: var(--s2); }
@media (forced-colors: active) {
  .note, .fault, .warning, .tag { border: 1px solid; }
  .mark rect { fill: CanvasText; } .mark path { fill: Canvas; stroke: Canvas; }
}
`;
