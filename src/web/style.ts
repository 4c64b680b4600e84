import { controls } from "./style-controls.ts";
import { tokens } from "./tokens.ts";

/** How pages look: the frame, type and tables here, what is pressed and typed beside it. */
export const style = `${tokens}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
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
.soft { color: var(--soft); } .number { font-variant-numeric: tabular-nums; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.skip { position: absolute; left: var(--s3); top: -4rem; z-index: 2; background: var(--card);
  border: 1px solid var(--edge); border-radius: var(--round); padding: var(--s2) var(--s3); }
.skip:focus { top: var(--s3); }
.icon { width: 1rem; height: 1rem; flex: none; fill: none; stroke: currentColor;
  stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
.mark { width: 1.375rem; height: 1.375rem; vertical-align: -.3rem; margin-right: .25rem; }
.mark rect { fill: #4b45d6; } .mark path { fill: #fff; stroke: #fff; stroke-width: 1.2; }
.brand { font-weight: 650; font-size: 1rem; color: var(--ink); letter-spacing: -.01em; }
.brand:hover { text-decoration: none; }

.alone { max-width: 27rem; margin: 0 auto; padding: var(--s6) var(--s4); }
.alone .brand { margin: 0 0 var(--s4); }
.alone .card { display: grid; gap: var(--s4); padding: var(--s5); }

.shell { min-height: 100vh; }
.rail { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s4);
  padding: var(--s2) var(--s4) 0; background: var(--side); border-bottom: 1px solid var(--line); }
.rail .where { display: none; }
.rail form { margin-left: auto; }
.rail nav { order: 3; width: 100%; overflow-x: auto; }
.rail ul { display: flex; gap: var(--s1); list-style: none; margin: 0; padding: 0; }
.rail li a { display: flex; align-items: center; gap: var(--s2); min-height: 2.75rem;
  padding: 0 var(--s3); color: var(--soft); font-weight: 500; white-space: nowrap;
  border-bottom: 2px solid transparent; }
.rail li a:hover { color: var(--ink); text-decoration: none; }
.rail li a[aria-current] { color: var(--accent); border-bottom-color: var(--accent); }
main#main { padding: var(--s5) var(--s4) var(--s7); max-width: 74rem; display: grid;
  gap: var(--s5); align-content: start; outline: none; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 56rem) {
  .shell { display: grid; grid-template-columns: 14.5rem minmax(0, 1fr);
    background: linear-gradient(90deg, var(--side) 14.5rem, transparent 0); }
  .rail { flex-direction: column; align-items: stretch; flex-wrap: nowrap; gap: var(--s4);
    position: sticky; top: 0; height: 100vh; padding: var(--s5) var(--s3) var(--s4);
    border: 0; border-right: 1px solid var(--line); }
  .rail .brand { padding: 0 var(--s2); }
  .rail .where { display: grid; padding: 0 var(--s2); font-size: var(--small); }
  .rail .where span { color: var(--soft); }
  .rail nav { order: 0; flex: 1; overflow: visible; }
  .rail ul { flex-direction: column; }
  .rail li a { min-height: 2.125rem; padding: 0 var(--s2); border: 0;
    border-radius: var(--round); }
  .rail li a:hover { background: var(--well); }
  .rail li a[aria-current] { background: var(--accent-soft); }
  .rail form { margin: 0; }
  main#main { padding: var(--s6) var(--s6) var(--s7); }
}

.head { display: flex; flex-wrap: wrap; gap: var(--s3) var(--s4); align-items: center; }
.head > :first-child { flex: 1; min-width: 6rem; }
.crumbs { font-size: var(--small); margin-bottom: var(--s1); }
.crumbs a { text-decoration: none; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: var(--rounder);
  box-shadow: var(--shade); min-width: 0; }
.card > h2, .card > header { padding: var(--s4) var(--s4) 0; }
.card > header { display: flex; gap: var(--s3); align-items: baseline;
  justify-content: space-between; }
.narrow { max-width: 48rem; }
.inside { padding: var(--s4); display: grid; gap: var(--s4); min-width: 0;
  grid-template-columns: minmax(0, 1fr); }
.columns, .column { display: grid; gap: var(--s5); align-content: start;
  grid-template-columns: minmax(0, 1fr); min-width: 0; }
@media (min-width: 72rem) { .columns { grid-template-columns: minmax(0, 1fr) 22rem; } }
.empty { padding: var(--s6) var(--s4); text-align: center; color: var(--soft);
  display: grid; gap: var(--s3); justify-items: center; }

.facts { margin: 0; display: grid; gap: var(--s2) var(--s4); }
.facts > div { display: grid; grid-template-columns: 5.5rem minmax(0, 1fr); gap: var(--s3); }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }

table { width: 100%; border-collapse: collapse; table-layout: fixed; }
caption { text-align: left; }
th { text-align: left; font-weight: 500; font-size: var(--small); color: var(--soft);
  padding: var(--s2) var(--s4); border-bottom: 1px solid var(--line); }
td { padding: .6875rem var(--s4); border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:hover { background: var(--well); }
td.number, th.number { text-align: right; }
.line { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.line.soft { font-size: var(--small); }
td > a.line { font-weight: 550; color: var(--ink); }
td > a.line:hover { color: var(--accent); }
.clicks { width: 5.5rem; }
@media (max-width: 47.99rem) { .late { display: none; } }
@media (min-width: 48rem) { .early { display: none; } }
.foot { display: flex; flex-wrap: wrap; gap: var(--s3); align-items: center;
  justify-content: space-between; padding: var(--s3) var(--s4);
  border-top: 1px solid var(--line); color: var(--soft); }
.list { list-style: none; margin: 0; padding: 0; }
.list > li { padding: var(--s3) 0; border-top: 1px solid var(--line); display: grid;
  gap: var(--s1); min-width: 0; }
.list > li:first-child { border-top: 0; padding-top: 0; }
.list > li:last-child { padding-bottom: 0; }
.split { display: flex; gap: var(--s3); align-items: start; justify-content: space-between; }
.split > :first-child { min-width: 0; flex: 1; }
.tag { display: inline-block; font-size: .75rem; font-weight: 550; line-height: 1.25rem;
  padding: 0 var(--s2); border-radius: 1rem; background: var(--well); color: var(--soft); }
.tag.good { background: var(--good-soft); color: var(--good); }
.tag.busy { background: var(--accent-soft); color: var(--accent); }
progress { width: 100%; height: .5rem; accent-color: var(--accent); }

.note, .fault, .warning { border-radius: var(--round); padding: var(--s3) var(--s4);
  border: 1px solid var(--line); background: var(--well); }
.note.good { background: var(--good-soft); border-color: transparent; color: var(--good); }
.fault { background: var(--grave-soft); border-color: transparent; color: var(--grave); }
.warning { background: var(--warn-soft); border-color: var(--warn-line); color: var(--ink);
  margin-top: var(--s2); }
${controls}
@media (forced-colors: active) {
  .rail li a[aria-current] { outline: 1px solid; }
  del, ins { forced-color-adjust: none; color: CanvasText; background: Canvas; }
}
`;
