import { base } from "../look/base.ts";
import { controls } from "../look/controls.ts";
import { facts } from "../look/facts.ts";
import { tokens } from "../look/tokens.ts";
import { bulkStyle } from "./style-bulk.ts";
import { frame } from "./style-frame.ts";
import { operator } from "./style-operator.ts";

/** What stands on several pages: tables, lists, filters, and what can be copied. */
const parts = `
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
.slim { width: 5.5rem; }
@media (max-width: 47.99rem) { .late { display: none; } }
@media (min-width: 48rem) { .early { display: none; } }
.foot { display: flex; flex-wrap: wrap; gap: var(--s3); align-items: center;
  justify-content: space-between; padding: var(--s3) var(--s4);
  border-top: 1px solid var(--line); color: var(--soft); }
.list { list-style: none; margin: 0; padding: 0; }
.list > li { padding: var(--s3) 0; border-top: 1px solid var(--line); display: grid;
  gap: var(--s1); min-width: 0; }
.list > li.split { display: flex; gap: var(--s3); }
.list > li:first-child { border-top: 0; padding-top: 0; }
.list > li:last-child { padding-bottom: 0; }
.split { display: flex; gap: var(--s3); align-items: start; justify-content: space-between; }
.split > :first-child { min-width: 0; flex: 1; }
@media (max-width: 47.99rem) {
  .list > li.asking { display: grid; justify-items: start; }
}
.note ul { margin: var(--s2) 0 0; padding-left: 1.1rem; }

.tools { display: grid; gap: var(--s3); padding: var(--s3) var(--s4);
  border-bottom: 1px solid var(--line); }
.buttons.dates { align-items: end; }
::-webkit-calendar-picker-indicator:focus-visible { outline: 2px solid var(--accent); }
.tools .row { display: flex; gap: var(--s2); flex-wrap: wrap; }
.tools .search { flex: 1; min-width: 11rem; }
.tools .sort { width: auto; flex: 0 1 12rem; }
.chips { display: flex; flex-wrap: wrap; gap: var(--s2); list-style: none; padding: 0;
  margin: 0; }
.filtering { display: grid; gap: var(--s3); }
.filters { margin-top: var(--s3); display: grid; gap: var(--s3);
  grid-template-columns: repeat(auto-fit, minmax(min(11rem, 100%), 1fr)); align-items: end; }
[aria-busy="true"] { opacity: .6; }
/* What comes at once does not flicker. */
@media (prefers-reduced-motion: no-preference) {
  [aria-busy="true"] { transition: opacity .15s .2s; }
}

.copy { display: flex; gap: var(--s2); align-items: center; min-width: 0; }
.copy code { flex: 1; min-width: 0; overflow-wrap: anywhere; padding: var(--s2) var(--s3);
  background: var(--well); border-radius: var(--round); }
[data-copy] { visibility: hidden; }
.scripted [data-copy] { visibility: visible; }
pre { margin: 0; padding: var(--s3); background: var(--well); border-radius: var(--round);
  overflow-x: auto; line-height: 1.5; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
.document > * { margin: var(--s3) 0; }
.document > h2, .document > h3 { margin-top: var(--s5); }
.document :is(td, th, li, code) { overflow-wrap: anywhere; }
.client { border-top: 1px solid var(--line); }
.client:first-of-type { border-top: 0; }
.client > summary { width: 100%; padding: var(--s3) 0; }
.client > div { display: grid; gap: var(--s3); padding-bottom: var(--s4);
  grid-template-columns: minmax(0, 1fr); }
.qr { display: grid; gap: var(--s3); justify-items: center; }
.qr svg { width: 100%; max-width: 11rem; height: auto; border-radius: var(--round);
  border: 1px solid var(--line); }
`;

const whole = tokens + base + controls + facts + frame + parts + operator + bulkStyle;

/** How the console looks: what all pages of ours share, and what is its own, without its spaces. */
export const style = whole
  .replace(/\/\*.*?\*\//gs, "")
  .replace(/\s*([{};])\s*/g, "$1")
  .replace(/:\s+/g, ":");
