/** The token of a header `Authorization: Bearer …`; undefined where it is none. */
export function readBearer(authorization: string | null | undefined): string | undefined {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
  return token;
}
