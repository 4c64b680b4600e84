/** What only the pages of keys, settings and statistics have. */
export const operator = `
.scopes { display: grid; gap: var(--s2); align-content: start; }
.scopes > p:first-child { font-weight: 550; }
.limits { align-items: start; margin: 0; }
/* Nothing is chosen of what is all there. */
form:has(#access option[value="full"]:checked) .limits { display: none; }
.granted { display: block; color: var(--soft); overflow-wrap: anywhere; }
.revoke { width: 8rem; } .when { width: 10.5rem; }
.set-by { display: block; font-size: var(--small); overflow-wrap: anywhere; }
td .set-to { font-weight: 550; }
.set-to { overflow-wrap: anywhere; }
@media (max-width: 47.99rem) { td .set-to { display: block; } }
.set-by code { white-space: nowrap; }
.from { width: 8.5rem; }
.chart { display: block; width: 100%; height: 8.75rem; }
.charted .scale { color: var(--soft); font-size: var(--small);
  font-variant-numeric: tabular-nums; }
.charted .ends { display: flex; justify-content: space-between; }
.chart rect { fill: var(--accent); }
.chart rect:hover { fill: var(--accent-over); }
.chart .ground { stroke: var(--line); stroke-width: 2; }
.halves { display: grid; gap: var(--s4); }
@media (min-width: 64rem) { .halves { grid-template-columns: 1fr 1fr; } }
.figures tbody th { font-weight: 400; text-align: start; overflow-wrap: anywhere; }
.figures > h2 { padding-bottom: var(--s3); }
.figures thead th:first-child { width: 40%; }
.figures tbody tr:last-child th { border-bottom: 0; }
@media (max-width: 30rem) {
  .figures table { table-layout: auto; }
  .figures .number { padding-inline: var(--s2); white-space: nowrap; }
  .figures .number:last-child { padding-inline-end: var(--s4); }
}
`;
