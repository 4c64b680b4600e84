/** Jobs, plans, files and the audit: what is told of many links at once. */
export const bulkStyle = `
.bad { color: var(--grave); }
.tag.warn { background: var(--warn-soft); color: var(--ink); }
th.state, th.end { width: 6.5rem; } th.amount { width: 9rem; } th.when { width: 10rem; }
th.place { width: 6rem; } th.count { width: 5rem; }
.jobs td progress { display: block; margin-top: var(--s2); }
.card > h2 + .inside + table, .card > h2 + table { border-top: 1px solid var(--line); }
.counts { margin: 0; display: grid; gap: var(--s3);
  grid-template-columns: repeat(auto-fit, minmax(4rem, 1fr)); }
.counts dt { color: var(--soft); font-size: var(--small); }
.counts dd { margin: 0; font-size: var(--large); font-weight: 600; }
.choice { display: flex; gap: var(--s4); padding: 0 var(--s4);
  border-bottom: 1px solid var(--line); }
.choice a { padding: var(--s3) 0; color: var(--soft); font-weight: 550;
  border-bottom: 2px solid transparent; margin-bottom: -1px; }
.choice a:hover { color: var(--ink); text-decoration: none; }
.choice a[aria-current] { color: var(--accent); border-bottom-color: var(--accent); }

th.pick, td.pick { width: 2.75rem; padding: 0; }
th.pick + th, td.pick + td { padding-left: var(--s1); }
label.pick { display: grid; place-items: center; min-height: 2.75rem; cursor: pointer; }
th label.pick { min-height: 2rem; visibility: hidden; }
.scripted th label.pick { visibility: visible; }
.pick input { width: 1rem; height: 1rem; margin: 0; accent-color: var(--accent); }
.selected { display: flex; flex-wrap: wrap; gap: var(--s2) var(--s4); align-items: center;
  padding: var(--s3) var(--s4); border-top: 1px solid var(--line); background: var(--card);
  position: sticky; bottom: 0; }
.selected > :first-child { flex: 1; min-width: 8rem; }
/* Where a browser cannot tell whether anything is ticked, it is always there. */
@supports selector(:has(a)) {
  .selected { display: none; }
  [data-select]:has(td.pick :checked, [name="all"]:checked) .selected { display: flex; }
}
tr:has(td.pick :checked) { background: var(--accent-soft); }

.way + .way { border-top: 1px solid var(--line); }
.way > label { padding: var(--s3) 0; font-weight: 550; cursor: pointer; }
.way > div { display: grid; gap: var(--s4); padding-bottom: var(--s4);
  grid-template-columns: minmax(0, 1fr); }
/* Where a browser cannot tell which one is chosen, all of them are there. */
.way:not(:has([name="way"]:checked)) > div { display: none; }

input[type="file"].drop { padding: var(--s6) var(--s4); border-style: dashed; height: auto;
  cursor: pointer; }
.drop.over { border-color: var(--accent); background: var(--accent-soft); }
.drop::file-selector-button { font: inherit; font-weight: 550; color: var(--ink);
  background: var(--card); border: 1px solid var(--line); border-radius: var(--round);
  min-height: 2.25rem; padding: 0 var(--s3); margin-right: var(--s3); cursor: pointer; }

.findings { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); }
.findings h3 + p { margin-top: var(--s1); }
.found { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4); list-style: none; margin: 0;
  padding: 0; min-width: 0; }
.found li { max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }

ol.rows { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
ol.rows > li { padding: var(--s3) 0; border-bottom: 1px solid var(--line); }
ol.rows dl { margin-top: var(--s2); }
.question ol.rows dl > div { padding: var(--s1) 0; border: 0; }
ol.rows .delete { color: var(--grave); }
.question section > h2 { margin-bottom: var(--s2); }
.question section nav { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4);
  align-items: center; padding-top: var(--s2); color: var(--soft); }
.question section nav a { min-height: 2.25rem; display: inline-flex; align-items: center; }
`;
