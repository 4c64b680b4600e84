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

/** The CSS of buttons and form fields. */
export const controls = `
button, .button { display: inline-flex; align-items: center; justify-content: center;
  gap: var(--s2); min-height: 2.25rem; padding: 0 var(--s3); font: inherit; font-weight: 550;
  color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: var(--round); box-shadow: var(--shade); cursor: pointer; white-space: nowrap; }
button:hover, .button:hover { background: var(--well); text-decoration: none; }
button:active, .button:active { box-shadow: none; }
.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.main:hover { background: var(--accent-over); border-color: var(--accent-over);
  color: var(--on-accent); }
.main.grave { background: var(--grave); border-color: var(--grave); }
.main.grave:hover { background: var(--grave-over); border-color: var(--grave-over); }
button.grave:not(.main), .button.grave:not(.main) { color: var(--grave); }
.quiet { border-color: transparent; background: none; box-shadow: none; color: var(--soft);
  padding: 0 var(--s2); }
.small { min-height: 1.875rem; padding: 0 var(--s2); font-size: var(--small); }
.wide { width: 100%; }
.buttons { display: flex; flex-wrap: wrap; gap: var(--s3); align-items: center; }
.buttons > * { max-width: 100%; white-space: normal; }

.stack { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); }
.pair { display: grid; gap: var(--s4); grid-template-columns: minmax(0, 1fr); }
@media (min-width: 40rem) { .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
.field { display: grid; gap: var(--s1); align-content: start; min-width: 0; }
.field > label, .field > span { font-weight: 550; }
.broad { grid-column: 1 / -1; }
.hint, .error { font-size: var(--small); color: var(--soft); }
.error { color: var(--grave); }
fieldset { border: 0; padding: 0; margin: 0; min-width: 0; display: grid; gap: var(--s4);
  grid-template-columns: minmax(0, 1fr); }
/* A floating legend is inside its fieldset and not on the border. */
legend { float: left; width: 100%; font-weight: 600; font-size: var(--large); padding: 0; }
fieldset + fieldset, details.more { border-top: 1px solid var(--line); padding-top: var(--s5); }
.more[open] > summary { margin-bottom: var(--s4); }
input:not([type="checkbox"], [type="radio"]), select, textarea { width: 100%; min-width: 0;
  min-height: 2.25rem; font: inherit; color: inherit; background: var(--ground);
  border: 1px solid var(--edge); border-radius: var(--round); padding: .375rem var(--s3); }
textarea { min-height: 5rem; resize: vertical; }
select { padding-right: var(--s1); }
input:hover, select:hover, textarea:hover { border-color: var(--soft); }
[aria-invalid="true"] { border-color: var(--grave) !important; }
::placeholder { color: var(--soft); opacity: 1; }
input:placeholder-shown { text-overflow: ellipsis; }
.check { display: flex; gap: var(--s2); align-items: start; }
.check input { margin: .1875rem 0 0; width: 1rem; height: 1rem; flex: none;
  accent-color: var(--accent); }
summary { cursor: pointer; font-weight: 550; width: fit-content; border-radius: var(--round); }
@media (pointer: coarse), (max-width: 40rem) {
  input:not([type="checkbox"], [type="radio"]), select, textarea { font-size: 1rem;
    min-height: 2.75rem; }
  button, .button { min-height: 2.75rem; }
  .small { min-height: 2.25rem; }
}
`;

/** The CSS of approval questions: their facts, and comparisons of old and new values. */
export const facts = `
.question { max-width: 48rem; }
.question dl { margin: 0; }
.question dl:empty { display: none; }
.question dl > div { padding: var(--s3) 0; border-bottom: 1px solid var(--line); }
.question dl > div:first-child { padding-top: 0; }
.question dt { color: var(--soft); font-size: var(--small); overflow-wrap: anywhere; }
.question dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap;
  unicode-bidi: isolate; }
.question dd ul { margin: 0; padding-left: 1.1rem; white-space: normal; }
.also { display: block; color: var(--soft); font-size: var(--small); }
.value { unicode-bidi: isolate; } .word { word-break: break-all; }
.old, .new, .removed, .added { border-radius: var(--round); padding: .2rem var(--s2); }
.old, .removed { background: var(--old); } .new, .added { background: var(--new); }
.old, .new { display: grid; grid-template-columns: 2.5rem minmax(0, 1fr);
  align-items: baseline; }
.old + .new { margin-top: var(--s1); }
del, ins { text-decoration: none; border-radius: .2rem; padding: .05rem 0; }
del { background: var(--old-mark); text-decoration: line-through; }
ins { background: var(--new-mark); text-decoration: underline; text-underline-offset: .15em; }
.side { font-size: .75rem; font-weight: 600; }
.lines { font: .8125rem/1.5 var(--mono); }
.lines .removed, .lines .added { border-radius: 0; }
.diff > summary { cursor: pointer; font-weight: 600; padding: var(--s2) 0; }
.diff h3 { margin: var(--s3) 0 var(--s2); }
.diff .lines { overflow-wrap: anywhere; white-space: pre-wrap; tab-size: 2; }
.diff .lines > * { padding: 0 var(--s2); }
.diff .place { color: var(--soft); background: var(--well); }
.question .warning { white-space: normal; }
@media (min-width: 40rem) {
  .question dl > div:not(.wide) { display: grid; grid-template-columns: 9rem minmax(0, 1fr);
    gap: var(--s4); }
}
@media (forced-colors: active) {
  del, ins { forced-color-adjust: none; color: CanvasText; background: Canvas; }
}
`;

/** The CSS of the frames that show a page template before and after a change. */
export const frames = `
[aria-labelledby="look"] { display: grid; gap: var(--s3); container-type: inline-size;
  grid-template-columns: minmax(0, 1fr); }
.frames { display: grid; gap: var(--s3); justify-content: start;
  grid-template-columns: repeat(2, auto); }
.frames.phone { --wide: 360; --zoom: .375; }
.frames.desktop { --wide: 1024; --zoom: .27; grid-template-columns: auto; }
figure { margin: 0; }
figcaption { font-size: var(--small); margin-bottom: var(--s1); }
figure > div { border: 1px solid var(--line); border-radius: var(--rounder); overflow: hidden;
  width: calc(var(--wide) * var(--zoom) * 1px); height: calc(640px * var(--zoom)); }
figure iframe { display: block; border: 0; background: var(--day); color-scheme: light;
  width: calc(var(--wide) * 1px); height: 640px; transform: scale(var(--zoom));
  transform-origin: 0 0; }
@container (min-width: 38rem) {
  .frames { gap: var(--s4); }
  .frames.phone { --zoom: .75; }
  .frames.desktop { --zoom: .28; grid-template-columns: repeat(2, auto); }
}
`;
