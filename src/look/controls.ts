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
