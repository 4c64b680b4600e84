import { joinMarks, readLanguage, readVersion, type Marks } from "./marks.ts";

/**
 * What a phone tells of itself, by the names of the public iOS SDK (DeviceFingerprint.swift); the
 * script of a link's page uses the same. It is all a stranger's: what cannot be read is not told.
 */
export function readFingerprint(told: Readonly<Record<string, unknown>>): Marks {
  return [
    readScreen(told),
    readLanguage(readText(told["language"]) || readFirst(told["languages"])),
    readVersion(readText(told["os_version"])),
    readDevice(readText(told["device_model"])),
    readZone(readText(told["timezone"])),
    readCalendar(readText(told["calendar"])),
  ].reduce(joinMarks);
}

/**
 * What an app tells each time it asks on this phone, and on no other one: what iOS calls the phone
 * for a maker's apps, and which of these it is. Undefined where it tells no such name.
 */
export function readAsker(told: Readonly<Record<string, unknown>>): string | undefined {
  const [phone = "", ...app] = ["idfv", "app_version", "app_build"].map((name) =>
    readText(told[name]),
  );
  // Nothing but zeros is the name of any phone that tells none.
  return /^[\da-f-]{36}$/i.test(phone) && /[1-9a-f]/i.test(phone)
    ? JSON.stringify([phone.toLowerCase(), ...app])
    : undefined;
}

/** A phone on its side is the same phone: an app tells how it is held, and a browser does not. */
function readScreen(told: Readonly<Record<string, unknown>>): Marks {
  const sides = [told["screen_width"], told["screen_height"]].map(readSize);
  const [small, large] = sides.toSorted((one, other) => one - other);
  const ratio = readSize(told["device_pixel_ratio"]);
  if (small === undefined || large === undefined || !(small > 0) || !(ratio > 0)) return {};
  return { screen: `${Math.round(small)}x${Math.round(large)}@${Math.round(ratio * 100) / 100}` };
}

function readSize(value: unknown): number {
  return typeof value === "number" && value > 0 && value < mostPoints ? value : Number.NaN;
}

const mostPoints = 20_000;

/** `iPhone15,2`: a browser tells the first word alone. A simulator names the computer it is on. */
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

/** Browsers and systems keep to one of a zone's two names, and not to the same one. */
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
