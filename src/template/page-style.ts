import { colours } from "../look/tokens.ts";

/** The styles of our own markup. They use `:where`, so that a template's styles override them. */
export const pageStyle = `
:where(html){-webkit-text-size-adjust:100%;text-size-adjust:100%}
:where(body){margin:0;min-height:100svh;font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;color:#14151a;background:#fff}
:where(*,::before,::after){box-sizing:border-box}
:where(img){max-width:100%;height:auto}
:where(.store-buttons){display:flex;flex-direction:column;gap:.75rem;width:100%;max-width:22rem;
margin-inline:auto}
:where(.store-button){display:flex;align-items:center;justify-content:center;gap:.625rem;
min-height:3.25rem;padding:.75rem 1.5rem;border-radius:999px;border:1px solid transparent;
font-weight:600;font-size:1.0625rem;line-height:1.25;text-align:center;text-decoration:none;
-webkit-tap-highlight-color:transparent}
:where(.store-button svg){flex:none}
:where(.store-button-primary){color:#fff;background:#14151a}
:where(.store-button-secondary){color:inherit;border-color:#14151a2e}
:where(.store-button:focus-visible){outline:3px solid #5b6cff;outline-offset:3px}
@media (prefers-color-scheme:dark){
:where(body){color:#f4f5f8;background:#0d0e13}
:where(.store-button-primary){color:#14151a;background:#fff}
:where(.store-button-secondary){border-color:#ffffff38}
}
`.replaceAll("\n", "");

/** Additional styles for pages with the starter template, in its colors. */
export const ownStyle = `
:where(.store-button){padding-inline:1.125rem}
:where(.store-button-primary){background:var(--ink,#14151a)}
:where(.store-button:focus-visible){outline-color:${colours.accent[0]}}
@media (prefers-color-scheme:dark){
:where(.store-button-primary){color:${colours.ground[1]};background:var(--ink,#fff)}
:where(.store-button:focus-visible){outline-color:${colours.accent[1]}}
}
:where(.store-button span){min-width:0;overflow-wrap:anywhere;text-wrap:balance}
:where(.phone){display:flex;flex-direction:column;align-items:center;gap:.875rem;margin:0 0 1.5rem}
:where(.phone-code){padding:.25rem;border-radius:1.25rem;background:#fff;
border:1px solid var(--edge,#14151a1a)}
:where(.phone-code svg){display:block;width:10.5rem;height:10.5rem}
:where(.phone figcaption){max-width:17rem;color:var(--quiet,inherit);font-size:.9375rem;
line-height:1.4;text-wrap:balance}
:where(.leave){max-width:22rem;margin:0 auto 1rem;padding:.75rem 1rem;border-radius:1rem;
border:1px solid var(--edge,#14151a1a);background:var(--tint,transparent);text-align:start;
font-size:.9375rem;line-height:1.4}
:where(.leave p){margin:.125rem 0 0;color:var(--quiet,inherit)}
:where(.leave p bdi){color:var(--ink,inherit);font-weight:600}
@media (max-width:24rem){:where(.store-button){padding-inline:.875rem;font-size:1rem}}
:where([dir=rtl]) .store-button-continue svg,:where([dir=rtl]) .store-button-open svg
{transform:scaleX(-1)}
`.replaceAll("\n", "");
