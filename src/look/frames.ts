/** The CSS of the frames that show a page template before and after a change. */
export const frames = `
[aria-labelledby="look"] { display: grid; gap: var(--s3); container-type: inline-size;
  grid-template-columns: minmax(0, 1fr); }
.frames { display: grid; gap: var(--s3); justify-content: start;
  grid-template-columns: repeat(2, auto); }
.frames.phone { --wide: 360; --zoom: .375; }
.frames.desktop { --wide: 1024; --zoom: .27; grid-template-columns: auto; }
figure { margin: 0; }
figcaption { font-size: var(--small); margin-bottom: var(--s1); }
figure > div { border: 1px solid var(--line); border-radius: var(--rounder); overflow: hidden;
  width: calc(var(--wide) * var(--zoom) * 1px); height: calc(640px * var(--zoom)); }
figure iframe { display: block; border: 0; background: var(--day); color-scheme: light;
  width: calc(var(--wide) * 1px); height: 640px; transform: scale(var(--zoom));
  transform-origin: 0 0; }
@container (min-width: 38rem) {
  .frames { gap: var(--s4); }
  .frames.phone { --zoom: .75; }
  .frames.desktop { --zoom: .28; grid-template-columns: repeat(2, auto); }
}
`;
