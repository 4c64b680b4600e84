/** How a client key begins: it says what it is to whoever finds it, and wherever it is shown. */
export const clientPrefix = "waypost_client_";

export function isClientToken(token: string): boolean {
  return token.startsWith(clientPrefix);
}
