import * as z from "zod";
import { readDestinations } from "../contract/rules/destinations.ts";
import { isOrigin } from "../contract/rules/link-address.ts";
import { hasLogin } from "../contract/rules/web-address.ts";
import { scopes } from "../contract/scopes-and-roles.ts";
import { modes } from "../mcp/approval/mode.ts";
import { databaseUrlRule, isAddress, isDatabaseUrl } from "../network/database-url.ts";
import { readNetworks } from "../network/read-networks.ts";
import { readTrustedProxies } from "../network/trusted-proxies.ts";
import { explainTimeZone, isTimeZone } from "../text/time-zone.ts";

/** What each setting may be, told in the words that follow its name. */

export const logLevels = ["silent", "error", "warn", "info", "debug"] as const;

const list = z.string().transform((text) => {
  return text.split(",").flatMap((word) => (word.trim() === "" ? [] : [word.trim()]));
});

const hosts = z.string().transform((text, context) => {
  const read = readDestinations(text);
  if ("destinations" in read) return read.destinations;
  context.addIssue({ code: "custom", message: read.fault });
  return z.NEVER;
});

const networks = z.string().transform((text, context) => {
  const read = text === "" ? [] : readNetworks(text);
  if (read !== undefined) return read;
  context.addIssue({ code: "custom", message: "must be networks, such as 10.0.0.0/8,loopback" });
  return z.NEVER;
});

/** A login would be sent with every request, and shown wherever the address is. */
const plainText = z.string().refine((text) => !hasLogin(text), {
  error: "must have no user name or password",
  abort: true,
});

const origin = plainText.transform((text) => text.replace(/\/$/, ""));

function wholeNumber(least: number, most: number) {
  const fault = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,5}$/, fault)
    .transform(Number)
    .refine((number) => number >= least && number <= most, fault);
}

export const settingsSchema = z.object({
  data: z
    .string()
    .refine(
      (text) => !isAddress(text),
      "must be a folder, not an address; set WAYPOST_DATABASE_URL to use a database",
    ),
  database_url: z.string().refine(isDatabaseUrl, databaseUrlRule).optional(),
  host: z.string().regex(/^[\w.:-]+$/, "must be a host name or an address"),
  port: wholeNumber(0, 65_535),
  trusted_proxies: z
    .string()
    .transform((text) => readTrustedProxies(text) ?? null)
    .refine(
      (proxies) => proxies !== null,
      "must be networks, such as 10.0.0.0/8,loopback, or the number of proxies, such as 1",
    )
    .optional(),
  webhook_private: networks,
  link_origin: origin.optional(),
  second_origin: origin.optional(),
  public_url: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .refine(isPlainAddress, "must have no user name, password, query or fragment")
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  base_url: plainText
    .transform((url) => url.replace(/\/+$/, "").replace(/\/api\/v1$/, ""))
    .refine(isFixedOrigin, "must be an http or https origin, without a path")
    .optional(),
  mode: z.enum(modes, `must be one of ${modes.join(", ")}`),
  scopes: list.pipe(z.array(z.enum(scopes, `may only contain ${scopes.join(", ")}`))).optional(),
  probe: z.enum(["on", "off"], "must be on or off"),
  tools: list,
  destinations: hosts.optional(),
  geoip_file: z.string().optional(),
  time_zone: z
    .string()
    .refine(isTimeZone, { error: ({ input }) => explainTimeZone(String(input)) })
    .optional(),
  log: z.enum(logLevels, `must be one of ${logLevels.join(", ")}`),
});

export function isFixedOrigin(text: string): boolean {
  return isOrigin(text) && !text.includes("{");
}

function isPlainAddress(url: string): boolean {
  return !/[?#@]/.test(url);
}
