/**
 * The one script that a link's page can have: it tells the link host what the phone looks like, so
 * that an app which is installed next can be told of the link. It goes by the page's own address,
 * with no cookies, and nothing waits for it.
 */
export function renderScript(visit: string, nonce: string): string {
  const body =
    `{visit:${JSON.stringify(visit)},screen_width:s.width,screen_height:s.height,` +
    "device_pixel_ratio:devicePixelRatio,timezone:f.timeZone,calendar:f.calendar," +
    "language:n.language,languages:n.languages}";
  const sending =
    'fetch(location.href,{method:"POST",credentials:"omit",keepalive:true,' +
    `headers:{"content-type":"application/json"},body:JSON.stringify(${body})})`;
  const reading = "s=screen,n=navigator,f=Intl.DateTimeFormat().resolvedOptions()";
  return `<script nonce="${nonce}">(()=>{const ${reading};${sending}.catch(()=>{})})()</script>`;
}
