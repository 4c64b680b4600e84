import type { ClockAndRandom } from "../contract/clock.ts";
import { createPrefixedId } from "../state/ids.ts";
import type { KeptValues } from "../state/kept-values.ts";

/** Exported files of links, which an assistant reads page by page within an hour. */

export type SavedPages = { readonly id: string; readonly pages: number };
export type ExportPage = { readonly type: string; readonly text: string };

export async function saveExportPages(
  kept: KeptValues,
  { type, texts }: { readonly type: string; readonly texts: AsyncIterable<string> },
  owner: string,
  { clock, random }: ClockAndRandom,
): Promise<SavedPages> {
  const id = createPrefixedId("export", random);
  const at = clock.now();
  const keys: string[] = [];
  try {
    for await (const text of texts) {
      const key = writeKey(owner, id, keys.length + 1);
      keys.push(key);
      await kept.save("export_page", key, { type, text }, { owner, at });
    }
  } catch (error) {
    await kept.remove("export_page", keys);
    throw error;
  }
  return { id, pages: keys.length };
}

export async function findExportPage(
  kept: KeptValues,
  { owner, id, page }: { readonly owner: string; readonly id: string; readonly page: number },
): Promise<ExportPage | undefined> {
  return (await kept.find("export_page", writeKey(owner, id, page)))?.value;
}

function writeKey(owner: string, id: string, page: number): string {
  return `${owner} ${id} ${page}`;
}
