/** The style of the approval page, for small and large screens, light and dark. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #f2f4f6; --card: #ffffff; --ink: #1a1f24; --soft: #55606b; --line: #d9dee3;
  --act: #1f5fbf; --act-over: #184c99; --grave: #b3261e; --grave-over: #8f1d17;
  --fault: #fdecea; --warn: #fff4d6; --warn-line: #b7791f; --focus: #1f6feb;
  --good: #2e7d4f;
  --old: #fdecea; --old-mark: #f6b9b3; --new: #e6f4ea; --new-mark: #a9dcb8;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101316; --card: #1a1e22; --ink: #e9ecef; --soft: #a6b0ba; --line: #343b42;
    --act: #2f6fd0; --act-over: #2560ba; --grave: #c9372c; --grave-over: #b32e24;
    --fault: #3a1a18; --warn: #3a2e10; --warn-line: #d9a441; --focus: #6cb0ff;
    --good: #5cb585;
    --old: #331b1a; --old-mark: #6e2a26; --new: #16291d; --new-mark: #28583a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); padding: 1.25rem 1rem 2rem; }
header, main { max-width: 44rem; margin: 0 auto; }
header { font-weight: 650; letter-spacing: .02em; color: var(--soft); padding: 0 .25rem .75rem; }
main { background: var(--card); border: 1px solid var(--line); border-radius: .9rem;
  padding: 1.5rem 1.25rem; box-shadow: 0 1px 3px rgb(0 0 0 / .08); }
p { margin: 0; overflow-wrap: anywhere; }
.lead, .small, .also { color: var(--soft); font-size: .925rem; }
h1 { font-size: 1.35rem; line-height: 1.35; margin: .25rem 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
h3 { font-size: .925rem; margin: .75rem 0 .35rem; color: var(--soft); }
.approved { border-top: 4px solid var(--good); }
.declined { border-top: 4px solid var(--soft); }
.act { font-weight: 600; margin-bottom: .5rem; }
dl { margin: 1rem 0 1.5rem; border-top: 1px solid var(--line); }
dl:empty { display: none; }
dl > div { padding: .6rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; unicode-bidi: isolate; }
dd ul { margin: 0; padding-left: 1.1rem; white-space: normal; }
.value { unicode-bidi: isolate; }
.word { word-break: break-all; }
.also { display: block; font-size: .875rem; }
.old, .new, .removed, .added { border-radius: .35rem; padding: .2rem .5rem; }
.old, .removed { background: var(--old); }
.new, .added { background: var(--new); }
.old, .new { display: grid; grid-template-columns: 2.5rem minmax(0, 1fr);
  align-items: baseline; }
.old + .new { margin-top: .25rem; }
del, ins { text-decoration: none; border-radius: .2rem; padding: .05rem 0; }
del { background: var(--old-mark); text-decoration: line-through; }
ins { background: var(--new-mark); text-decoration: underline; text-underline-offset: .15em; }
.side { font-size: .8rem; font-weight: 600; }
.lines { font: .8125rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
.lines .removed, .lines .added { border-radius: 0; }
.warning, .fault { border-left: 4px solid var(--warn-line); background: var(--warn);
  border-radius: .3rem; padding: .6rem .8rem; margin: .5rem 0 0; white-space: normal; }
.fault { border-left-color: var(--grave); background: var(--fault); margin: 0 0 1.25rem; }
section { margin: 0 0 1.5rem; }
section > .small { margin-top: .75rem; }
.rows { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
.rows > li { padding: .65rem 0; border-bottom: 1px solid var(--line); }
.rows dl { margin: .35rem 0 0; border: 0; }
.rows dl > div { padding: .2rem 0; border: 0; }
.rows .delete { color: var(--grave); }
@media (prefers-color-scheme: dark) { .rows .delete { color: #ff8a80; } }
nav { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem; padding-top: .75rem; }
nav a { color: inherit; font-weight: 600; padding: .6rem .25rem; min-height: 2.75rem; }
nav span { color: var(--soft); }
.frames { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; }
figcaption { font-size: .875rem; margin-bottom: .25rem; }
figure div { border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
iframe { display: block; border: 0; background: #ffffff; transform-origin: 0 0;
  color-scheme: light; }
.phone figure div { width: 270px; height: 480px; }
.phone iframe { width: 360px; height: 640px; transform: scale(.75); }
.desktop figure { max-width: 100%; }
.desktop figure div { width: 640px; max-width: 100%; height: 402px; overflow: auto hidden; }
.desktop iframe { width: 1024px; height: 640px; transform: scale(.625); margin-right: -384px; }
label { display: block; font-weight: 600; margin: 0 0 1rem; }
input { display: block; width: 100%; max-width: 16rem; margin-top: .3rem; font: inherit;
  color: inherit; background: var(--ground); border: 1px solid var(--soft); border-radius: .5rem;
  padding: .55rem .7rem; }
.hint { margin: -.6rem 0 1rem; }
.buttons { display: flex; flex-direction: column; gap: .75rem; }
button { font: inherit; font-weight: 600; min-height: 2.9rem; padding: .5rem 1.75rem;
  border-radius: .55rem; border: 1px solid var(--soft); background: none; color: inherit;
  cursor: pointer; }
button:hover { background: var(--ground); }
button[value="approve"] { background: var(--act); border-color: var(--act); color: #ffffff; }
button[value="approve"]:hover { background: var(--act-over); border-color: var(--act-over); }
button[value="approve"].grave { background: var(--grave); border-color: var(--grave); }
button[value="approve"].grave:hover { background: var(--grave-over); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
form + .small { margin-top: 1.25rem; }
@media (min-width: 40rem) {
  body { padding-top: 3rem; }
  main { padding: 2rem; }
  dl > div:not(.wide) { display: grid; grid-template-columns: 9rem minmax(0, 1fr);
    gap: 1rem; }
  dt { font-size: 1rem; }
  .buttons { flex-direction: row; }
}
@media (forced-colors: active) {
  del, ins { forced-color-adjust: none; color: CanvasText; background: Canvas; }
}
`;
