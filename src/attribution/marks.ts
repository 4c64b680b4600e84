/**
 * Properties that distinguish phones, such as the size of the screen. Values have the same form,
 * whether they come from a browser or from an app. Missing and implausible values are omitted.
 */
export type Marks = {
  readonly [Name in MarkName]?: string;
};

export type MarkName = (typeof markNames)[number];

export const markNames = [
  /** The device type, such as `iphone`. */
  "device",
  /**
   * The screen's width and height in points, smaller one first, and its pixels per point:
   * `393x852@3`.
   */
  "screen",
  "zone",
  /** The language without its region, such as `en`. */
  "language",
  "region",
  "calendar",
  /** The major version of the system (`26`), and its major and minor version together (`26.1`). */
  "major",
  "minor",
] as const;

/** Combines properties of the same phone. If a property is in both, the value in `one` is used. */
export function joinMarks(one: Marks, other: Marks): Marks {
  return { ...other, ...one };
}

/** Parses `en-US`, `zh-Hans-CN` or `de_DE`. Only apps send a script, such as `Hans`. */
function readLanguage(text: string): Marks {
  const [language = "", ...rest] = text.trim().toLowerCase().split(/[-_]/);
  if (!/^[a-z]{2,3}$/.test(language)) return {};
  const region = rest.find((part) => /^([a-z]{2}|\d{3})$/.test(part));
  return { language, ...(region !== undefined && { region }) };
}

/** Parses a version such as `26.0.1` or `18_6`. Browsers omit the third number. */
function readVersion(text: string): Marks {
  const [, major, minor = "0"] = /^(\d{1,3})(?:[._](\d{1,3}))?(?:[._]|$)/.exec(text) ?? [];
  return major === undefined ? {} : { major, minor: `${major}.${minor}` };
}

/**
 * Parses the properties that a phone sends. Their names are those of the public iOS SDK
 * (DeviceFingerprint.swift), and the page's script uses the same names. Anyone can send these
 * values, so invalid ones are omitted.
 */
export function readFingerprint(fingerprint: Readonly<Record<string, unknown>>): Marks {
  return [
    readScreen(fingerprint),
    readLanguage(readText(fingerprint["language"]) || readFirst(fingerprint["languages"])),
    readVersion(readText(fingerprint["os_version"])),
    readDevice(readText(fingerprint["device_model"])),
    readZone(readText(fingerprint["timezone"])),
    readCalendar(readText(fingerprint["calendar"])),
  ].reduce(joinMarks);
}

/**
 * Returns an ID for an app installation. It consists of iOS's identifier for vendor (IDFV), and the
 * app's version and build. Returns undefined if the app sends no IDFV.
 */
export function readInstance(fingerprint: Readonly<Record<string, unknown>>): string | undefined {
  const [phone = "", ...app] = ["idfv", "app_version", "app_build"].map((name) =>
    readText(fingerprint[name]),
  );
  // A phone without an IDFV sends zeros.
  return /^[\da-f-]{36}$/i.test(phone) && /[1-9a-f]/i.test(phone)
    ? JSON.stringify([phone.toLowerCase(), ...app])
    : undefined;
}

/**
 * Reads the screen's size. The smaller side comes first, because a browser reports the sides in the
 * same order in every orientation, but an app does not.
 */
function readScreen(fingerprint: Readonly<Record<string, unknown>>): Marks {
  const sides = [fingerprint["screen_width"], fingerprint["screen_height"]].map(readSize);
  const [small, large] = sides.toSorted((one, other) => one - other);
  const ratio = readSize(fingerprint["device_pixel_ratio"]);
  if (small === undefined || large === undefined || !(small > 0) || !(ratio > 0)) return {};
  return { screen: `${Math.round(small)}x${Math.round(large)}@${Math.round(ratio * 100) / 100}` };
}

function readSize(value: unknown): number {
  return typeof value === "number" && value > 0 && value < mostPoints ? value : Number.NaN;
}

const mostPoints = 20_000;

/**
 * Parses `iPhone15,2` from apps or `iPhone` from browsers. A simulator sends the model of its
 * computer.
 */
function readDevice(model: string): Marks {
  const [, device] = /^(iPhone|iPad|iPod)/.exec(model) ?? [];
  return device === undefined ? {} : { device: device.toLowerCase() };
}

function readZone(zone: string): Marks {
  if (!/^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(zone)) return {};
  return { zone: (otherZones.get(zone) ?? zone).toLowerCase() };
}

function readCalendar(calendar: string): Marks {
  const name = calendar.toLowerCase();
  return /^[a-z-]{3,20}$/.test(name) ? { calendar: name === "gregorian" ? "gregory" : name } : {};
}

/**
 * Maps the other names of a time zone to its usual name, because browsers and systems use different
 * names.
 */
const otherZones: ReadonlyMap<string, string> = new Map([
  ["Africa/Asmera", "Africa/Asmara"],
  ["America/Buenos_Aires", "America/Argentina/Buenos_Aires"],
  ["America/Catamarca", "America/Argentina/Catamarca"],
  ["America/Coral_Harbour", "America/Atikokan"],
  ["America/Cordoba", "America/Argentina/Cordoba"],
  ["America/Godthab", "America/Nuuk"],
  ["America/Indianapolis", "America/Indiana/Indianapolis"],
  ["America/Jujuy", "America/Argentina/Jujuy"],
  ["America/Louisville", "America/Kentucky/Louisville"],
  ["America/Mendoza", "America/Argentina/Mendoza"],
  ["Asia/Calcutta", "Asia/Kolkata"],
  ["Asia/Katmandu", "Asia/Kathmandu"],
  ["Asia/Rangoon", "Asia/Yangon"],
  ["Asia/Saigon", "Asia/Ho_Chi_Minh"],
  ["Atlantic/Faeroe", "Atlantic/Faroe"],
  ["Europe/Kiev", "Europe/Kyiv"],
  ["Pacific/Enderbury", "Pacific/Kanton"],
  ["Pacific/Ponape", "Pacific/Pohnpei"],
  ["Pacific/Truk", "Pacific/Chuuk"],
  ["UTC", "Etc/UTC"],
  ["GMT", "Etc/GMT"],
]);

function readText(value: unknown): string {
  return typeof value === "string" && value.length <= mostCharacters ? value : "";
}

const mostCharacters = 100;

function readFirst(value: unknown): string {
  return Array.isArray(value) ? readText(value[0]) : "";
}

/** Reads a phone's properties from the headers of a request. Needs no script. */
export function readRequest(agent: string, languages: string | undefined): Marks {
  const [first = ""] = (languages ?? "").split(/[,;]/, 1);
  return joinMarks(readAgent(agent), readLanguage(first));
}

/**
 * Reads the device and its system version. Returns no properties for devices that Apple did not
 * make, or for iPads that identify themselves as Macs.
 */
function readAgent(agent: string): Marks {
  const [, device] = /\((iPhone|iPad|iPod)\b/.exec(agent) ?? [];
  if (device === undefined) return {};
  return { device: device.toLowerCase(), ...readSystem(agent) };
}

/**
 * Reads the system version. Since iOS 26, browsers report 18_6 or 18_7 as the system version, so
 * Safari's own version is used if present.
 */
function readSystem(agent: string): Marks {
  const [, safari] = /\bVersion\/(\d{1,3}(?:\.\d{1,3})?)/.exec(agent) ?? [];
  if (safari !== undefined) return readVersion(safari);
  const [, system = ""] = /\bOS (\d{1,3}(?:_\d{1,3})?)/.exec(agent) ?? [];
  return Number(system.replace("_", ".")) < frozenSystem ? readVersion(system) : {};
}

const frozenSystem = 18.6;
