/** `postgres://user:password@host:5432/database`; its query may name a socket. */
export function isDatabaseUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\//.test(text)) return false;
  try {
    return new URL(text).pathname.length > 1;
  } catch {
    return false;
  }
}
