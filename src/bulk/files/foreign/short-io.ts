import { readUrl } from "../../../contract/rules/web-address.ts";
import {
  createTaker,
  keepGiven,
  readShortPath,
  takeEchoes,
  takeOff,
  type Converted,
  type ForeignLink,
  type Format,
  type Taker,
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
  const taker = createTaker(link);
  const { take, takeAs, rest } = taker;
  const path = take(...pathKeys) ?? takeAs(readShortPath, ...shortKeys);
  const fields = {
    name: take("title"),
    path,
    url: addCampaign(take("originalurl"), taker),
    ios_fallback_url: take("iphoneurl", "iosurl"),
    android_fallback_url: take("androidurl"),
  };
  takeEchoes(taker, path, shortKeys);
  takeOff(taker, "archived", "cloaking", "haspassword", "skipqs", "duplicate");
  return { fields: keepGiven(fields), unmapped: rest() };
}

/** Short.io puts the campaign into the address that it leads to. */
function addCampaign(address: string | undefined, { takeAs }: Taker): string | undefined {
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
