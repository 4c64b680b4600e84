/** api-spec.md says nothing of it, so it is short: proxies refuse long headers. */
const mostBytes = 500;
const opening = '299 waypost "';
const closing = '"';

/**
 * A `Warning` header (RFC 7234, §5.5): what was ignored of a request that was carried out. Names
 * in it are strangers': no letter gets through which could end the text or the header.
 */
export function writeWarning(text: string): string {
  let quoted = "";
  for (const letter of text) {
    const safe = /[\x20-\x7e]/.test(letter) ? letter.replace(/["\\]/, "\\$&") : "?";
    if (opening.length + quoted.length + safe.length + closing.length > mostBytes) break;
    quoted += safe;
  }
  return opening + quoted + closing;
}
