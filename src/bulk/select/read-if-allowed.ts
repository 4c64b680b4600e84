import { Problem } from "../../contract/problem.ts";

/** Undefined for what the key may not read: a key that may write links need not be able to. */
export async function readIfAllowed<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined;
    throw error;
  }
}
