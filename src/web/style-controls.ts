/** What is pressed and typed, and what is compared before a yes. */
export const controls = `
button, .button { display: inline-flex; align-items: center; justify-content: center;
  gap: var(--s2); min-height: 2.25rem; padding: 0 var(--s3); font: inherit; font-weight: 550;
  color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: var(--round); box-shadow: var(--shade); cursor: pointer; white-space: nowrap; }
button:hover, .button:hover { background: var(--well); text-decoration: none; }
.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.main:hover { background: var(--accent-over); border-color: var(--accent-over);
  color: var(--on-accent); }
.main.grave { background: var(--grave); border-color: var(--grave); }
.main.grave:hover { background: var(--grave-over); border-color: var(--grave-over); }
.grave:not(.main) { color: var(--grave); }
.quiet { border-color: transparent; background: none; box-shadow: none; color: var(--soft);
  padding: 0 var(--s2); }
.small { min-height: 1.875rem; padding: 0 var(--s2); font-size: var(--small); }
.wide { width: 100%; }
.buttons { display: flex; flex-wrap: wrap; gap: var(--s3); align-items: center; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }

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
/* A floating legend stands in its fieldset, and not on the border. */
legend { float: left; width: 100%; font-weight: 600; font-size: var(--large); padding: 0; }
fieldset + fieldset, details.more { border-top: 1px solid var(--line); padding-top: var(--s5); }
.more[open] > summary { margin-bottom: var(--s4); }
input:not([type="checkbox"]), select, textarea { width: 100%; min-width: 0; min-height: 2.25rem;
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--edge);
  border-radius: var(--round); padding: .375rem var(--s3); }
textarea { min-height: 5rem; resize: vertical; }
select { padding-right: var(--s1); }
input:hover, select:hover, textarea:hover { border-color: var(--soft); }
[aria-invalid="true"] { border-color: var(--grave) !important; }
::placeholder { color: var(--soft); opacity: 1; }
.check { display: flex; gap: var(--s2); align-items: start; }
.check input { margin: .1875rem 0 0; width: 1rem; height: 1rem; accent-color: var(--accent); }
@media (pointer: coarse), (max-width: 40rem) {
  input:not([type="checkbox"]), select, textarea { font-size: 1rem; min-height: 2.75rem; }
  button, .button { min-height: 2.75rem; }
  .small { min-height: 2.25rem; }
}

.tools { display: grid; gap: var(--s3); padding: var(--s3) var(--s4);
  border-bottom: 1px solid var(--line); }
.tools .row { display: flex; gap: var(--s2); flex-wrap: wrap; }
.tools .search { flex: 1; min-width: 11rem; }
.tools .sort { width: auto; flex: 0 1 12rem; }
summary { cursor: pointer; font-weight: 550; width: fit-content; border-radius: var(--round); }
.chips { display: flex; flex-wrap: wrap; gap: var(--s2); list-style: none; padding: 0;
  margin: 0; }
.filtering { display: grid; gap: var(--s3); }
.filters { margin-top: var(--s3); display: grid; gap: var(--s3);
  grid-template-columns: repeat(auto-fit, minmax(min(11rem, 100%), 1fr)); align-items: end; }
[aria-busy="true"] { opacity: .6; }

.copy { display: flex; gap: var(--s2); align-items: center; min-width: 0; }
.copy code { flex: 1; min-width: 0; overflow-wrap: anywhere; padding: var(--s2) var(--s3);
  background: var(--well); border-radius: var(--round); }
[data-copy] { visibility: hidden; }
.scripted [data-copy] { visibility: visible; }
pre { margin: 0; padding: var(--s3); background: var(--well); border-radius: var(--round);
  overflow-x: auto; line-height: 1.5; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
.client { border-top: 1px solid var(--line); }
.client:first-of-type { border-top: 0; }
.client > summary { width: 100%; padding: var(--s3) 0; }
.client > div { display: grid; gap: var(--s3); padding-bottom: var(--s4);
  grid-template-columns: minmax(0, 1fr); }
.qr { display: grid; gap: var(--s3); justify-items: center; }
.qr svg { width: 100%; max-width: 11rem; height: auto; border-radius: var(--round);
  border: 1px solid var(--line); }

.question { max-width: 48rem; }
.question dl { margin: 0; }
.question dl > div { padding: var(--s3) 0; border-bottom: 1px solid var(--line); }
.question dl > div:first-child { padding-top: 0; }
.question dt { color: var(--soft); font-size: var(--small); }
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
del, ins { text-decoration: none; border-radius: .2rem; }
del { background: var(--old-mark); text-decoration: line-through; }
ins { background: var(--new-mark); text-decoration: underline; text-underline-offset: .15em; }
.side { font-size: .75rem; font-weight: 600; }
.lines { font: .8125rem/1.5 var(--mono); }
@media (min-width: 40rem) {
  .question dl > div:not(.wide) { display: grid; grid-template-columns: 9rem minmax(0, 1fr);
    gap: var(--s4); }
}
`;
