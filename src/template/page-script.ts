/**
 * The one script that a link's page can have: it tells the link host what the phone looks like, so
 * that an app which is installed next can be told of the link. It goes by the page's own address,
 * with no cookies, and nothing waits for it.
 */
export function renderScript(
  { visit, copied }: { readonly visit: string | undefined; readonly copied: string | undefined },
  nonce: string,
): string {
  const body =
    `{visit:${JSON.stringify(visit)},screen_width:s.width,screen_height:s.height,` +
    "device_pixel_ratio:devicePixelRatio,timezone:f.timeZone,calendar:f.calendar," +
    "language:n.language,languages:n.languages}";
  const sending =
    'fetch(location.href,{method:"POST",credentials:"omit",keepalive:true,' +
    `headers:{"content-type":"application/json"},body:JSON.stringify(${body})})`;
  const reading = "s=screen,n=navigator,f=Intl.DateTimeFormat().resolvedOptions()";
  const copying = copied === undefined ? "" : renderCopying(copied);
  // Without a visit, as in a preview, nothing is sent.
  const told = visit === undefined ? "" : `${sending}.catch(()=>{});`;
  const telling = `const ${reading};${told}${copying}`;
  return `<script nonce="${nonce}">(()=>{${telling}})()</script>`;
}

/** What a visitor presses may write there; where it may not, the button leads on all the same. */
function renderCopying(address: string): string {
  // Within a script no tag of the address may end it.
  const text = JSON.stringify(address).replaceAll("<", "\\u003c");
  const button = 'e.target.closest("a.store-button-app-store")';
  return `addEventListener("click",e=>{${button}&&n.clipboard?.writeText(${text}).catch(()=>{})})`;
}
