import { joinMarks, readLanguage, readVersion, type Marks } from "./marks.ts";

/**
 * Parses the properties that a phone reports. They have the names of the public iOS SDK
 * (DeviceFingerprint.swift), which the preview page's script also uses. Anyone can send these
 * values, so unreadable ones are omitted.
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
 * Returns an id for one app on one phone. Combines the id that iOS gives the phone for a vendor's
 * apps with the app's version and build. Returns undefined if the app does not send the phone's id.
 */
export function readInstance(fingerprint: Readonly<Record<string, unknown>>): string | undefined {
  const [phone = "", ...app] = ["idfv", "app_version", "app_build"].map((name) =>
    readText(fingerprint[name]),
  );
  // Phones without an id send zeros.
  return /^[\da-f-]{36}$/i.test(phone) && /[1-9a-f]/i.test(phone)
    ? JSON.stringify([phone.toLowerCase(), ...app])
    : undefined;
}

/** Ignores orientation, because apps report how the phone is held and browsers do not. */
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
 * Parses `iPhone15,2`. Browsers report only the first word. A simulator reports the model of its
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

/** Alternative names of time zones. Browsers and systems do not use the same ones. */
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
