/** Pages of links as they look on a phone and a screen, and what switches between them. */
export const devices = `
.looking > header { align-items: center; }
.choice { display: flex; gap: 2px; padding: 2px; border-radius: var(--round);
  background: var(--well); width: fit-content; max-width: 100%; }
.inside > .choice { width: auto; } .inside > .choice label { flex: 1; }
.with { display: flex; gap: var(--s2); } .with > .field { flex: 1; }
.scripted .show, .scripted .with:not(:has(select)) { display: none; }
.choice label { position: relative; display: flex; align-items: center; justify-content: center;
  min-height: 1.75rem; padding: 0 var(--s2); border-radius: .25rem;
  font-size: var(--small); font-weight: 550;
  color: var(--soft); cursor: pointer; white-space: nowrap; }
.choice label:hover { color: var(--ink); }
.choice input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0;
  cursor: pointer; }
.choice label:has(:checked) { background: var(--card); color: var(--ink);
  box-shadow: var(--shade), 0 0 0 1px var(--line); }
.choice label:has(:focus-visible) { outline: 2px solid var(--accent); outline-offset: 1px; }
.stage { position: relative; display: grid; justify-items: center; gap: var(--s4);
  grid-template-columns: minmax(0, 1fr); }
.stage[data-stale] iframe { opacity: .5; }
:root:not(.scripted) .drawn { display: none; }
.drawn { align-self: start; position: sticky; top: var(--s5); }
.drawn .stage:empty { min-height: 36rem; }
.looking:has([value="ios"]:checked) .device:not(.ios),
.looking:has([value="android"]:checked) .device:not(.android),
.looking:has([value="desktop"]:checked) .device:not(.desktop),
.looking:has([value="light"]:checked) .device.dark,
.looking:has([value="dark"]:checked) .device.light { display: none; }
.device { --wide: 375; --high: 720; --zoom: .72; display: flex; flex-direction: column;
  flex: none; background: var(--device); border: 1px solid var(--edge); border-radius: 2.25rem;
  padding: .5rem; box-shadow: var(--shade); }
.device.ios { flex-direction: column-reverse; }
.device.android { border-radius: 1.75rem; }
.device.desktop { --wide: 1120; --high: 760; --zoom: .235; border-radius: var(--rounder);
  padding: .375rem; }
.device .bar { color: var(--device-ink); font-size: .6875rem; line-height: 1rem;
  min-height: 1.75rem; padding: .375rem 1rem; text-align: center;
  overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; width: calc(var(--wide) * var(--zoom) * 1px); }
.device.desktop .bar { text-align: left; padding: .125rem .5rem .375rem; }
.glass { width: calc(var(--wide) * var(--zoom) * 1px); background: var(--day);
  height: calc(var(--high) * var(--zoom) * 1px); overflow: hidden; border-radius: 1.75rem; }
.dark .glass { background: var(--night); }
.android .glass { border-radius: 1.25rem; }
.desktop .glass { border-radius: .25rem; }
.glass iframe { display: block; border: 0; width: calc(var(--wide) * 1px);
  height: calc(var(--high) * 1px); transform: scale(var(--zoom)); transform-origin: 0 0; }
.light iframe { color-scheme: light; } .dark iframe { color-scheme: dark; }
.leave { display: grid; place-items: center; padding: var(--s4); text-align: center;
  background: var(--well); color: var(--soft); font-size: var(--small); }
.coming { position: absolute; visibility: hidden; }
@media (min-width: 24.5rem) {
  .device { --zoom: .8; }
  .device.desktop { --zoom: .27; }
}
@media (min-width: 40rem) and (max-width: 71.99rem) { .device.desktop { --zoom: .49; } }
`;
