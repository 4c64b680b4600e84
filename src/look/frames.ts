/** How a page template looks before and after, beside what a person is asked about it. */
export const frames = `
[aria-labelledby="look"] { display: grid; gap: var(--s3);
  grid-template-columns: minmax(0, 1fr); }
.frames { display: flex; flex-wrap: wrap; gap: var(--s4); }
figure { margin: 0; }
figcaption { font-size: var(--small); margin-bottom: var(--s1); }
figure > div { border: 1px solid var(--line); border-radius: var(--rounder); overflow: hidden; }
figure iframe { display: block; border: 0; background: var(--day); transform-origin: 0 0;
  color-scheme: light; }
.phone figure > div { width: 270px; height: 480px; }
.phone figure iframe { width: 360px; height: 640px; transform: scale(.75); }
.desktop figure { max-width: 100%; }
.desktop figure > div { width: 640px; max-width: 100%; height: 402px; overflow: auto hidden; }
.desktop figure iframe { width: 1024px; height: 640px; transform: scale(.625);
  margin-right: -384px; }
`;
