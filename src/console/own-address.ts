/** An address of ours alone, however it is written; undefined for any other place. */
export function readOwnAddress(text: string, origin: string): URL | undefined {
  const home = new URL("/", origin);
  try {
    const url = new URL(text, home);
    // A browser takes what begins with two strokes for another host's.
    return url.origin === home.origin && !url.pathname.startsWith("//") ? url : undefined;
  } catch {
    return undefined;
  }
}
