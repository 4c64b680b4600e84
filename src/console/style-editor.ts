/** A long text with the numbers of its lines, and what is wrong at which. */
export const editor = `
.code { --figures: 3.25rem; display: grid; grid-template: max-content / minmax(max-content, 1fr);
  max-height: 36rem; overflow: auto; min-width: 0;
  scroll-padding-left: calc(var(--figures) + var(--s3));
  background: var(--ground); border: 1px solid var(--edge); border-radius: var(--round);
  font: .8125rem/1.5 var(--mono); }
.code:has([name="css"]) { max-height: 22rem; }
.code:focus-within { outline: 2px solid var(--accent); outline-offset: 1px; }
.code:has([aria-invalid="true"]) { border-color: var(--grave); }
.code > * { grid-area: 1 / 1; }
.code .gutter { width: var(--figures); padding: var(--s2) var(--s2) 0 0;
  position: sticky; left: 0; z-index: 1; contain: size; overflow: clip; font: inherit;
  color: var(--soft); background: var(--well); border-right: 1px solid var(--line);
  border-bottom: var(--s2) solid var(--well); border-radius: 0; text-align: right;
  user-select: none; }
.gutter b { display: inline-block; width: 100%; margin: 0 calc(-1 * var(--s2)) 0 0;
  padding-right: var(--s2); box-sizing: content-box; font-weight: 600; scroll-margin: 6rem;
  background: var(--grave-soft); color: var(--grave); }
.gutter b:target { background: var(--grave); color: var(--card); }
.code textarea { display: block; width: auto; justify-self: stretch; border: 0; border-radius: 0;
  margin: 0 0 0 var(--figures); padding: var(--s2) var(--s3); font: inherit;
  background: none; white-space: pre;
  overflow: auto hidden; resize: none; outline: none; min-height: 8rem; tab-size: 2; }
.code textarea { field-sizing: content; max-width: none; }
.findings { margin: var(--s2) 0 0; padding-left: 1.1rem; }
.findings a { color: inherit; font-weight: 600; text-decoration: underline; }
#findings .warning { margin: 0; }
#findings:empty { display: none; }
:root:has(#editor) { scroll-padding-bottom: 5rem; }
#editor > .foot { position: sticky; bottom: 0; z-index: 2; justify-content: start;
  background: var(--card); border-radius: 0 0 var(--rounder) var(--rounder); }
@media (min-width: 72rem) {
  .editing > .beside { grid-column: 2; grid-row: 1 / span 2; }
  .beside > .card { position: sticky; top: var(--s5); }
}
@media (pointer: coarse), (max-width: 40rem) {
  .code { font-size: 1rem; max-height: 26rem; }
  .code textarea { font: inherit; min-height: 8rem; }
}
`;
