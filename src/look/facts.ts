/** The CSS of approval questions: their facts, and comparisons of old and new values. */
export const facts = `
.question { max-width: 48rem; }
.question dl { margin: 0; }
.question dl:empty { display: none; }
.question dl > div { padding: var(--s3) 0; border-bottom: 1px solid var(--line); }
.question dl > div:first-child { padding-top: 0; }
.question dt { color: var(--soft); font-size: var(--small); overflow-wrap: anywhere; }
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
del, ins { text-decoration: none; border-radius: .2rem; padding: .05rem 0; }
del { background: var(--old-mark); text-decoration: line-through; }
ins { background: var(--new-mark); text-decoration: underline; text-underline-offset: .15em; }
.side { font-size: .75rem; font-weight: 600; }
.lines { font: .8125rem/1.5 var(--mono); }
.lines .removed, .lines .added { border-radius: 0; }
.diff > summary { cursor: pointer; font-weight: 600; padding: var(--s2) 0; }
.diff h3 { margin: var(--s3) 0 var(--s2); }
.diff .lines { overflow-wrap: anywhere; white-space: pre-wrap; tab-size: 2; }
.diff .lines > * { padding: 0 var(--s2); }
.diff .place { color: var(--soft); background: var(--well); }
.question .warning { white-space: normal; }
@media (min-width: 40rem) {
  .question dl > div:not(.wide) { display: grid; grid-template-columns: 9rem minmax(0, 1fr);
    gap: var(--s4); }
}
@media (forced-colors: active) {
  del, ins { forced-color-adjust: none; color: CanvasText; background: Canvas; }
}
`;
