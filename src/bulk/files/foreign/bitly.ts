import {
  createLinkReader,
  keepGiven,
  readShortPath,
  takeRepeated,
  takeUnsetFlags,
  type Converted,
  type ForeignLink,
  type Format,
} from "./format.ts";

/** Bitly: the CSV of its link list, and what `GET /v4/groups/…/bitlinks` answers. */
export const bitly: Format = {
  title: "Bitly",
  detect: (keys) =>
    longKeys.some((key) => keys.has(key)) &&
    ["bitlink", "custombitlinks", "bitlinkid", ...shortKeys].some((key) => keys.has(key)),
  convert,
};

const longKeys = ["longurl", "destinationurl"];
/** A back-half that was chosen goes before the generated one. */
const customKeys = ["custombitlinks", "custombitlink", "customlink", "customurl"];
const shortKeys = ["bitlink", "link", "shortlink", "shorturl", "id"];

function convert(link: ForeignLink): Converted {
  const reader = createLinkReader(link);
  const { take, takeAs, rest } = reader;
  const path = takeAs(readOnlyPath, ...customKeys) ?? takeAs(readShortPath, ...shortKeys);
  const fields = { name: take("title"), path, url: take(...longKeys) };
  // The same address twice, as a link and as its id.
  takeRepeated(reader, path, shortKeys);
  takeUnsetFlags(reader, "archived", "isdeleted");
  return { fields: keepGiven(fields), unmapped: rest() };
}

/** Of several back-halves none is better than the others, so they are left to be listed. */
function readOnlyPath(text: string): string | undefined {
  return text.includes(",") ? undefined : readShortPath(text);
}
