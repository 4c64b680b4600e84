import { base } from "../../look/base.ts";
import { controls } from "../../look/controls.ts";
import { facts } from "../../look/facts.ts";
import { frames } from "../../look/frames.ts";
import { tokens } from "../../look/tokens.ts";

/**
 * The style of the approval page, for small and large screens. It is read once and with care, and
 * is larger than what people work in all day.
 */
export const style = `${tokens}${base}${controls}${facts}${frames}
:root { --text: 1rem; --small: .9rem; --large: 1.125rem; }
body { background: var(--side); }
.alone { max-width: 46rem; }
.alone .question { max-width: none; gap: var(--s5); }
.question > div { display: grid; gap: var(--s2); }
.lead { color: var(--soft); }
.act { font-weight: 600; }
.approved { border-top: 4px solid var(--good); }
.declined { border-top: 4px solid var(--edge); }
section { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); }
section h3 { color: var(--soft); }
.question > .warning, .question > .fault { margin: 0; }
.rows { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
.rows > li { padding: var(--s3) 0; border-bottom: 1px solid var(--line); }
.rows dl > div { padding: var(--s1) 0; border: 0; }
.rows dl > div:first-child { padding-top: var(--s2); }
.rows .delete { color: var(--grave); }
nav { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s4); }
nav a { font-weight: 600; padding: .6rem .25rem; min-height: 2.75rem; }
nav span { color: var(--soft); }
.field input { max-width: 16rem; }
.buttons button { min-height: 2.9rem; padding: 0 var(--s5); }
@media (max-width: 39.99rem) {
  .buttons { display: grid; grid-template-columns: minmax(0, 1fr); }
}
@media (min-width: 40rem) {
  .alone { padding-top: var(--s7); }
  .alone .question { padding: var(--s6); }
  .question dt { font-size: var(--text); }
}
`;
