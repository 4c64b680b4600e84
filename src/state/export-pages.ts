import type { ClockAndRandom } from "../contract/clock.ts";
import { createPrefixedId } from "./tables.ts";
import type { ExpiringValues } from "./expiring-values.ts";

/** Stores exported links in pages. An assistant can read the pages for an hour. */

export async function saveExportPages(
  openKept: () => Promise<ExpiringValues>,
  { type, texts }: { readonly type: string; readonly texts: AsyncIterable<string> },
  owner: string,
  { clock, random }: ClockAndRandom,
) {
  const id = createPrefixedId("export", random);
  const at = clock.now();
  const keys: string[] = [];
  let kept: ExpiringValues | undefined;
  try {
    for await (const text of texts) {
      // Opened only now, so that a key without permission to read links fails before anything is
      // opened.
      kept ??= await openKept();
      const key = writeKey(owner, id, keys.length + 1);
      keys.push(key);
      await kept.save("export_page", key, { type, text }, { owner, at });
    }
  } catch (error) {
    await kept?.remove("export_page", keys);
    throw error;
  }
  return { id, pages: keys.length };
}

export async function findExportPage(
  kept: ExpiringValues,
  owner: string,
  id: string,
  page: number,
) {
  return (await kept.find("export_page", writeKey(owner, id, page)))?.value;
}

function writeKey(owner: string, id: string, page: number): string {
  return `${owner} ${id} ${page}`;
}
