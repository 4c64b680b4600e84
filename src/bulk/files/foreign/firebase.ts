import type { LinkFields } from "../../../contract/links.ts";
import { readUrl } from "../../../contract/rules/web-address.ts";
import { readFlag } from "../columns.ts";
import {
  createLinkReader,
  keepGiven,
  readShortPath,
  simplifyName,
  takeUnsetFlags,
  type Converted,
  type ForeignLink,
  type ForeignValue,
  type Format,
  type LinkReader,
} from "./format.ts";

/**
 * Firebase Dynamic Links: the CSV of Google Takeout (whose columns name the parameters of a long
 * link), long links, and the `dynamicLinkInfo` that its API took.
 */
export const firebase: Format = {
  title: "Firebase Dynamic Links",
  detect: (keys) =>
    longLinkKeys.some((key) => keys.has(key)) ||
    keys.has("domainuriprefix") ||
    (["link", "deeplink"].some((key) => keys.has(key)) &&
      ["shortlink", "apn", "ibi", "isi", "afl", "ifl", "ofl", "efr"].some((key) => keys.has(key))),
  convert,
};

const longLinkKeys = ["longdynamiclink", "longlink", "dynamiclink"];
/** What Google Play is told about a campaign, by the names that it has there. */
const campaign = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "gclid"];

function convert(link: ForeignLink): Converted {
  const reader = createLinkReader(openLongLink(link));
  const { take, takeAs } = reader;
  // On a desktop, `ofl` goes before the deep link, which then only the app would see.
  const desktop = take("ofl", "desktopfallbacklink");
  const url = desktop ?? take("link", "deeplink");
  const fields: LinkFields = {
    name: take("linkname", "name"),
    path: takeAs(readShortPath, "shortlink", ...longLinkKeys),
    url,
    social_title: take("st", "socialtitle"),
    social_description: take("sd", "socialdescription"),
    social_image_url: take("si", "socialimagelink"),
    ios_fallback_url: take("ifl", "iosfallbacklink"),
    android_fallback_url: take("afl", "androidfallbacklink"),
    enable_forced_redirect: takeAs(readFlag, "efr", "enableforcedredirect"),
    referrer: takeReferrer(reader),
    ...takeApps(reader),
    ...takeStoreTokens(reader),
  };
  takeUnsetFlags(reader, "archived");
  // The prefix of every short link, which stands before its path as well.
  if (fields.path !== undefined) take("domainuriprefix", "dynamiclinkdomain");
  const rest = reader.rest();
  const unmapped = desktop === undefined ? rest : rest.map(markReplaced);
  return { fields: keepGiven(fields), unmapped };
}

/** Only the app used the deep link of a link that also had a desktop fallback. */
function markReplaced(value: ForeignValue): ForeignValue {
  if (!["link", "deeplink"].includes(value.key)) return value;
  return { ...value, name: `${value.name}, replaced by the desktop fallback` };
}

/** A long link says in its query what the other columns would. */
function openLongLink(link: ForeignLink): readonly ForeignValue[] {
  return link.flatMap((value) => {
    const address = longLinkKeys.includes(value.key) ? readUrl(value.text) : undefined;
    if (address === undefined) return [value];
    const parameters = [...address.searchParams].filter(([, text]) => text !== "");
    const opened = parameters.map(([name, text]) => {
      return { name: `${value.name} ${name}`, key: simplifyName(name), text };
    });
    return readShortPath(value.text) === undefined ? opened : [value, ...opened];
  });
}

function takeApps({ take }: LinkReader): Pick<LinkFields, "ios_app" | "android_app"> {
  const bundle_id = take("ibi", "iosbundleid");
  const package_name = take("apn", "androidpackagename");
  // Without an app that it could belong to, the store's id stays where it is.
  const app_store_id = bundle_id && take("isi", "iosappstoreid");
  return {
    ...(bundle_id && { ios_app: { bundle_id, ...(app_store_id && { app_store_id }) } }),
    ...(package_name && { android_app: { package_name } }),
  };
}

const providerKeys = ["pt", "itunesconnectpt"];
const campaignKeys = ["ct", "itunesconnectct"];

/** The API takes the two tokens together or not at all. */
function takeStoreTokens({ has, take }: LinkReader): LinkFields {
  if (!has(...providerKeys) || !has(...campaignKeys)) return {};
  return { provider_token: take(...providerKeys), campaign_token: take(...campaignKeys) };
}

/** Firebase hands its campaign on to Google Play, as a link of ours does with its referrer. */
function takeReferrer({ take }: LinkReader): string | undefined {
  const parameters = new URLSearchParams();
  for (const name of campaign) {
    const text = take(simplifyName(name));
    if (text !== undefined) parameters.set(name, text);
  }
  return parameters.size === 0 ? undefined : parameters.toString();
}
