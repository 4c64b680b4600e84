import type { LinkFields } from "../../../contract/links.ts";
import {
  createLinkReader,
  keepGiven,
  readShortPath,
  takeRepeated,
  type Converted,
  type ForeignLink,
  type ForeignValue,
  type Format,
} from "./format.ts";

/**
 * Branch: the link data that its API takes and answers, alone or under `data`, and tables of it.
 * Its labels (`~channel`, `~campaign` and the like) and what an app reads from a link's data have
 * no place on a link of ours; they are listed.
 */
export const branch: Format = {
  title: "Branch",
  detect: (keys) => [...keys].some((key) => dataKeys.has(key) || key.startsWith("~")),
  convert,
};

const dataKeys: ReadonlySet<string> = new Set([
  "$desktopurl",
  "$fallbackurl",
  "$iosurl",
  "$androidurl",
  "$canonicalurl",
  "$deeplinkpath",
  "$ogtitle",
  "$ogdescription",
  "$ogimageurl",
  "$marketingtitle",
]);

function convert(link: ForeignLink): Converted {
  const reader = createLinkReader(link.filter((value) => !isOfApp(value)));
  const { take, takeAs, rest } = reader;
  const path = take("alias") ?? takeAs(readShortPath, ...shortKeys);
  const own = {
    url: take("$desktopurl", "desktopurl"),
    ios_fallback_url: take("$iosurl", "iosurl"),
    android_fallback_url: take("$androidurl", "androidurl"),
  };
  // One address for every platform that has none of its own.
  const isWanted = Object.values(own).includes(undefined);
  const fallback = isWanted ? take("$fallbackurl") : undefined;
  const fields: LinkFields = {
    name: take("$marketingtitle", "linktitle", "title"),
    path,
    url: own.url ?? fallback,
    social_title: take("$ogtitle", "ogtitle"),
    social_description: take("$ogdescription", "ogdescription"),
    social_image_url: take("$ogimageurl", "ogimageurl"),
    ios_fallback_url: own.ios_fallback_url ?? fallback,
    android_fallback_url: own.android_fallback_url ?? fallback,
  };
  // The address that ends in the alias.
  takeRepeated(reader, path, shortKeys);
  const left = new Set(rest());
  return {
    fields: keepGiven(fields),
    unmapped: link.filter((value) => left.has(value) || isOfApp(value)),
  };
}

/** What an app has put into the link's data for itself; Branch's own names begin with a sign. */
function isOfApp({ name }: ForeignValue): boolean {
  return /^data\.[^$~+]/.test(name) && name !== "data.url";
}

const shortKeys = ["url", "link", "shortlink", "shorturl", "~referringlink"];
