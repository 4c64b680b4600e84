import { randomBytes, scrypt } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { UsageFault, type Config } from "../../config.ts";
import { isSameSecret } from "../../text/secrets.ts";

/**
 * The PIN for the approval page. The operator writes the PIN to a file. The first start replaces
 * the PIN with its hash, so that the file no longer reveals the PIN.
 */

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);
/** Slow enough to make guessing short PINs from a stolen hash expensive. */
const cost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
const hashBytes = 32;
const minLength = 6;

/** Returns the hash of the operator's PIN; undefined if no PIN is set. */
export function openOwnPin({ secrets }: Pick<Config, "secrets">): Promise<string | undefined> {
  const { approval_pin_file: file } = secrets;
  return file === undefined ? Promise.resolve(undefined) : openPin(file);
}

export async function openPin(path: string): Promise<string> {
  const text = readPin(path);
  return isHash(text) ? text : replaceByHash(path, text);
}

export async function checkPin(pin: string, stored: string): Promise<boolean> {
  const [, salt = "", expected = ""] = stored.split("$");
  const given = await hash(pin, Buffer.from(salt, "base64url"));
  return isSameSecret(given, Buffer.from(expected, "base64url"));
}

/** Throws the same errors as `openPin`, but does not change the file. */
export function checkPinFile(path: string): void {
  readPin(path);
}

function readPin(path: string): string {
  const text = readText(path);
  if (isHash(text) || text.length >= minLength) return text;
  throw new UsageFault(
    `the file named in WAYPOST_APPROVAL_PIN_FILE must contain a PIN of at least ${minLength} ` +
      "characters",
  );
}

function isHash(text: string): boolean {
  return /^scrypt\$[\w-]+\$[\w-]+$/.test(text);
}

async function replaceByHash(path: string, text: string): Promise<string> {
  const salt = randomBytes(16);
  const hashed = await hash(text, salt);
  const stored = `scrypt$${salt.toString("base64url")}$${hashed.toString("base64url")}`;
  try {
    chmodSync(path, 0o600);
    writeFileSync(path, `${stored}\n`, { flush: true });
  } catch (error) {
    throw new UsageFault(
      `the PIN in ${path} cannot be replaced with its hash; make the file writable`,
      { cause: error },
    );
  }
  return stored;
}

/**
 * Normalizes the PIN, because keyboards may append a space or write an accented letter as two
 * characters.
 */
function hash(pin: string, salt: Buffer): Promise<Buffer> {
  return derive(pin.trim().normalize("NFC"), salt, hashBytes, cost);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new UsageFault(
      `WAYPOST_APPROVAL_PIN_FILE: ${path} cannot be read; check its name and permissions`,
      { cause: error },
    );
  }
}
