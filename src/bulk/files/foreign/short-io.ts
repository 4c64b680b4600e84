import { readUrl } from "../../../contract/rules/web-address.ts";
import {
  createLinkReader,
  keepGiven,
  readShortPath,
  takeRepeated,
  takeUnsetFlags,
  type Converted,
  type ForeignLink,
  type Format,
  type LinkReader,
} from "./format.ts";

/** Short.io: its CSV export, and what `GET /api/links` answers. */
export const shortIo: Format = {
  title: "Short.io",
  detect: (keys) =>
    keys.has("originalurl") &&
    [...pathKeys, ...shortKeys, "idstring", "iphoneurl", "androidurl"].some((key) => keys.has(key)),
  convert,
};

const pathKeys = ["path", "slug"];
const shortKeys = ["shorturl", "secureshorturl", "shortlink", "link"];
const campaign = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"];

function convert(link: ForeignLink): Converted {
  const reader = createLinkReader(link);
  const { take, takeAs, rest } = reader;
  const path = take(...pathKeys) ?? takeAs(readShortPath, ...shortKeys);
  const fields = {
    name: take("title"),
    path,
    url: addCampaign(take("originalurl"), reader),
    ios_fallback_url: take("iphoneurl", "iosurl"),
    android_fallback_url: take("androidurl"),
  };
  takeRepeated(reader, path, shortKeys);
  takeUnsetFlags(reader, "archived", "cloaking", "haspassword", "skipqs", "duplicate");
  return { fields: keepGiven(fields), unmapped: rest() };
}

/** Short.io puts the campaign into the address that it leads to. */
function addCampaign(address: string | undefined, { takeAs }: LinkReader): string | undefined {
  const url = readUrl(address ?? "");
  if (url === undefined) return address;
  let isChanged = false;
  for (const name of campaign) {
    takeAs(
      (text) => {
        const given = url.searchParams.get(name);
        if (given !== null) return given === text || undefined;
        url.searchParams.set(name, text);
        isChanged = true;
        return true;
      },
      name.replace("_", ""),
    );
  }
  return isChanged ? url.href : address;
}
