/**
 * What is around each page: the ways to the others, beside it or, on a phone, behind one button.
 * Browsers open that menu themselves; one that cannot shows it all the time.
 */
export const frame = `
.skip { position: absolute; left: var(--s3); top: -4rem; z-index: 4; background: var(--card);
  border: 1px solid var(--edge); border-radius: var(--round); padding: var(--s2) var(--s3); }
.skip:focus { top: var(--s3); }
html { scroll-padding-top: 4.5rem; }
.shell { min-height: 100vh; }
.rail { position: sticky; top: 0; z-index: 3; display: flex; flex-wrap: wrap;
  align-items: center; justify-content: space-between; min-height: 3.5rem;
  padding: 0 var(--s4); background: var(--side); border-bottom: 1px solid var(--line); }
.rail .brand { display: flex; align-items: center; min-height: 2.75rem; }
.rail .mark { margin-right: var(--s2); }
.waits:empty { display: none; }
.waits a { display: inline-flex; align-items: center; min-height: 2rem; padding: 0 var(--s3);
  border-radius: 1rem; background: var(--accent-soft); color: var(--accent); font-weight: 550;
  font-size: var(--small); text-decoration: none; }
.waits a:hover { text-decoration: underline; }
.menu { color: inherit; background: var(--side); border: 0; border-top: 1px solid var(--line);
  width: auto; height: auto; max-height: calc(100vh - 3.5rem);
  max-height: calc(100dvh - 3.5rem); overflow-y: auto;
  inset: 3.5rem 0 auto; margin: 0; padding: var(--s4); box-shadow: 0 1rem 2rem rgb(0 0 0 / .2); }
.menu::backdrop { background: rgb(0 0 0 / .25); inset: 3.5rem 0 0; }
.menu:popover-open { display: grid; gap: var(--s3); }
.where { display: grid; padding: 0 var(--s2); font-size: var(--small); }
.where span { color: var(--soft); overflow-wrap: anywhere; }
.menu nav { display: grid; gap: var(--s3); }
.menu nav p { padding: 0 var(--s2) var(--s1); font-size: .75rem; font-weight: 550;
  color: var(--soft); }
.menu ul { list-style: none; margin: 0; padding: 0; display: grid;
  grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0 var(--s2); }
.menu li a { display: flex; align-items: center; gap: var(--s2); min-height: 2.75rem;
  padding: 0 var(--s2); color: var(--soft); font-weight: 500; border-radius: var(--round); }
.menu li a:hover { color: var(--ink); background: var(--well); text-decoration: none; }
.menu li a[aria-current] { color: var(--accent); background: var(--accent-soft); }
main#main { padding: var(--s5) var(--s4) var(--s7); max-width: 74rem; display: grid;
  gap: var(--s5); align-content: start; outline: none; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 56rem) {
  html { scrollbar-gutter: stable; scroll-padding-top: 1rem; }
  .shell { display: grid; grid-template-columns: 14.5rem minmax(0, 1fr);
    background: linear-gradient(90deg, var(--side) 14.5rem, transparent 0); }
  .rail { flex-flow: column; align-items: stretch; justify-content: start; gap: var(--s4);
    height: 100vh; padding: var(--s5) var(--s3) var(--s4); overflow-y: auto; border: 0;
    border-right: 1px solid var(--line); }
  .rail .brand { padding: 0 var(--s2); min-height: 0; }
  .rail .opener { display: none; }
  .menu { position: static; flex: 1; display: flex; flex-direction: column; gap: var(--s4);
    max-height: none; overflow: visible; padding: 0; border: 0; background: none;
    box-shadow: none; }
  .menu::backdrop { display: none; }
  .menu nav { flex: 1; align-content: start; gap: var(--s4); }
  .menu ul { grid-template-columns: minmax(0, 1fr); gap: 1px; }
  .menu li a { min-height: 2.125rem; }
  main#main { padding: var(--s6) var(--s6) var(--s7); }
}
@media (forced-colors: active) {
  .menu li a[aria-current], .head .button[aria-current] { outline: 1px solid; }
}

.head { display: flex; flex-wrap: wrap; gap: var(--s3) var(--s4); align-items: center; }
.head > :first-child { flex: 1; min-width: 8rem; }
@media (max-width: 30rem) {
  .head:has(> :nth-child(4)) { justify-content: space-between; }
  .head:has(> :nth-child(4)) > :first-child { flex-basis: 100%; }
}
.head .button[aria-current] { color: var(--accent); background: var(--accent-soft); }
.crumbs { font-size: var(--small); margin-bottom: var(--s1); }
.crumbs a { text-decoration: none; }
.columns, .column { display: grid; gap: var(--s5); align-content: start;
  grid-template-columns: minmax(0, 1fr); min-width: 0; }
@media (min-width: 72rem) { .columns { grid-template-columns: minmax(0, 1fr) 22rem; } }
.card > h2, .card > header { padding: var(--s4) var(--s4) 0; }
.card > header { display: flex; gap: var(--s3); align-items: baseline;
  justify-content: space-between; }
.narrow { max-width: 48rem; }
.inside { padding: var(--s4); display: grid; gap: var(--s4); min-width: 0;
  grid-template-columns: minmax(0, 1fr); }
.empty { padding: var(--s6) var(--s4); text-align: center; color: var(--soft);
  display: grid; gap: var(--s3); justify-items: center; }
`;
