/** The start of every client key, so that people recognize one wherever it appears. */
export const clientPrefix = "waypost_client_";

export function isClientToken(token: string): boolean {
  return token.startsWith(clientPrefix);
}
