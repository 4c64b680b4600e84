/** The token of a header `Authorization: Bearer …`; undefined where it is none. */
export function readBearer(authorization: string | null | undefined): string | undefined {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
  return token;
}

/** As clients of REST write it: `Token x`, `Token token=x`, `Token token="x"`, `Bearer x`. */
const authorization = /^(?:token|bearer)[ \t]+(?:token=)?("?)([^\s",]+)\1[ \t]*$/i;

/** The key of such a header; undefined where it is none. */
export function readShownKey(header: string): string | undefined {
  return authorization.exec(header)?.[2];
}
