/** The style of the approval page, for small and large screens, light and dark. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #f2f4f6; --card: #ffffff; --ink: #1a1f24; --soft: #56606b; --line: #d9dee3;
  --act: #b3261e; --act-over: #8f1d17; --fault: #fdecea; --focus: #1f6feb;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101316; --card: #1a1e22; --ink: #e9ecef; --soft: #a2acb6; --line: #343b42;
    --act: #c9372c; --act-over: #dd4b40; --fault: #3a1a18; --focus: #6cb0ff;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); padding: 1.25rem 1rem 2rem; }
header, main { max-width: 40rem; margin: 0 auto; }
header { font-weight: 650; letter-spacing: .02em; color: var(--soft); padding: 0 .25rem .75rem; }
main { background: var(--card); border: 1px solid var(--line); border-radius: .9rem;
  padding: 1.5rem 1.25rem; box-shadow: 0 1px 3px rgb(0 0 0 / .08); }
p { margin: 0; }
.lead { color: var(--soft); font-size: .925rem; }
h1 { font-size: 1.3rem; line-height: 1.35; margin: .25rem 0 1rem; overflow-wrap: anywhere; }
dl { margin: 0 0 1.25rem; border-top: 1px solid var(--line); }
dl div { padding: .55rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--soft); font-size: .875rem; }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; unicode-bidi: isolate; }
.fault { background: var(--fault); border-left: 4px solid var(--act); border-radius: .3rem;
  padding: .6rem .8rem; margin: 0 0 1.25rem; }
label { display: block; font-weight: 600; margin: 0 0 1rem; }
input { display: block; width: 100%; max-width: 16rem; margin-top: .3rem; font: inherit;
  color: inherit; background: var(--ground); border: 1px solid var(--soft); border-radius: .5rem;
  padding: .55rem .7rem; }
.buttons { display: flex; flex-direction: column; gap: .75rem; }
button { font: inherit; font-weight: 600; min-height: 2.9rem; padding: .5rem 1.75rem;
  border-radius: .55rem; border: 1px solid var(--soft); background: none; color: inherit;
  cursor: pointer; }
button:hover { background: var(--ground); }
button[value="approve"] { background: var(--act); border-color: var(--act); color: #ffffff; }
button[value="approve"]:hover { background: var(--act-over); border-color: var(--act-over); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.small { color: var(--soft); font-size: .875rem; margin-top: 1.25rem; }
@media (min-width: 36rem) {
  body { padding-top: 3rem; }
  main { padding: 2rem; }
  dl div { display: grid; grid-template-columns: 9rem 1fr; gap: 1rem; }
  dt { font-size: 1rem; }
  .buttons { flex-direction: row; }
}
`;
