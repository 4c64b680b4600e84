/** Reads the token of an `Authorization: Bearer …` header; undefined for other headers. */
export function readBearer(authorization: string | null | undefined): string | undefined {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
  return token;
}

/** The forms that REST clients send: `Token x`, `Token token=x`, `Token token="x"`, `Bearer x`. */
const authorization = /^(?:token|bearer)[ \t]+(?:token=)?("?)([^\s",]+)\1[ \t]*$/i;

/** Reads the API key of a header in one of these forms; undefined for other headers. */
export function readShownKey(header: string): string | undefined {
  return authorization.exec(header)?.[2];
}
