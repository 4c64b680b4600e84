import { z } from "zod";
import { isLinkOrigin } from "./contract/link-address.ts";

/** Environment and flags → a typed Config. Pure: `main.ts` hands both in. */

export type Config = {
  /** The data folder. */
  readonly data: string;
  readonly host: string;
  readonly port: number;
  /** Undefined where it follows from the port that is really taken. */
  readonly link_origin: string | undefined;
  readonly public_url: string | undefined;
  readonly log: (typeof logLevels)[number];
};

type Values = Readonly<Record<string, string | undefined>>;

/** The caller's fault: one line that says what is wrong, and exit code 2. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

const logLevels = ["silent", "error", "warn", "info", "debug"] as const;

/** Each setting's variable and flag (design.md, "Configuration"); a flag wins. */
const settings = {
  data: { variable: "WAYPOST_DATA", flag: "data" },
  host: { variable: "WAYPOST_HOST", flag: "host" },
  port: { variable: "WAYPOST_PORT", flag: "port" },
  link_origin: { variable: "WAYPOST_LINK_ORIGIN", flag: "link-origin" },
  public_url: { variable: "WAYPOST_PUBLIC_URL", flag: "public-url" },
  log: { variable: "WAYPOST_LOG", flag: "log" },
} as const;

/** Part of the public interface, but not built yet: silence would be taken for obedience. */
const planned = [
  { variable: "WAYPOST_BASE_URL", flag: "base-url" },
  { variable: "WAYPOST_DATABASE_URL", flag: "database-url" },
] as const;

/** Every setting's flag, for whoever parses the command line. */
export const settingFlags: Readonly<Record<string, { readonly type: "string" }>> =
  Object.fromEntries(
    [...Object.values(settings), ...planned].map(({ flag }) => [flag, { type: "string" }]),
  );

const schema = z.object({
  data: z.string(),
  host: z.string().regex(/^[\w.:-]+$/, "must be a host name or an address"),
  port: z
    .string()
    .regex(/^\d{1,5}$/, "must be a whole number from 0 to 65535")
    .transform(Number)
    .refine((port) => port <= 65_535, "must be a whole number from 0 to 65535"),
  link_origin: z
    .string()
    .refine(isLinkOrigin, "must be an origin with {subdomain} in its host name")
    .transform((origin) => origin.replace(/\/$/, ""))
    .optional(),
  public_url: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  log: z.enum(logLevels, `must be one of ${logLevels.join(", ")}`),
});

export function readConfig(environment: Values, flags: Values): Config {
  for (const { variable, flag } of planned) {
    if (!isSet(environment[variable]) && !isSet(flags[flag])) continue;
    const name = isSet(flags[flag]) ? `--${flag}` : variable;
    throw new UsageFault(`${name} is not supported by this version; leave it unset`);
  }
  const given = {
    data: findDataFolder(environment),
    host: "127.0.0.1",
    port: "8787",
    log: "info",
    ...readSettings(environment, flags),
  };
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    // The first key of every issue is a setting: the schema's keys are the settings'.
    const setting = settings[issue?.path[0] as keyof typeof settings];
    throw new UsageFault(`--${setting.flag} (${setting.variable}) ${issue?.message}`);
  }
  const { link_origin, public_url, ...rest } = parsed.data;
  return { ...rest, link_origin, public_url };
}

/** The XDG data folder's `waypost`. */
function findDataFolder(environment: Values): string {
  const { XDG_DATA_HOME: data, HOME: home, USERPROFILE: profile } = environment;
  if (isSet(data)) return `${data}/waypost`;
  const folder = [home, profile].find(isSet) ?? ".";
  return `${folder}/.local/share/waypost`;
}

function readSettings(environment: Values, flags: Values): Values {
  const entries = Object.entries(settings).map(([name, { variable, flag }]) => {
    return [name, flags[flag] ?? environment[variable]] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => isSet(value)));
}

/** An empty variable is an unset one, as in every shell script. */
function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
