import { isFull, isIoFault } from "../../sql/faults.ts";

/** Explains file system errors to the user of a command. */

const causes: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "part of its path is a file",
  EISDIR: "it is a folder",
  EEXIST: "it already exists",
  EACCES: "you do not have permission to use it",
  EPERM: "you do not have permission to use it",
  EROFS: "its disk is read-only",
  ENOSPC: "its disk is full; free some space",
  EDQUOT: "your disk quota is used up; free some space",
  EIO: "its disk reports errors; choose another disk",
};

/** Returns why a file could not be read or written, worded to complete a sentence. */
export function explainFileFault(error: unknown): string {
  const code = isFull(error) ? "ENOSPC" : isIoFault(error) ? "EIO" : readCode(error);
  return causes[code] ?? code;
}

/** Like `explainFileFault`, for writes, where ENOENT means that the folder is missing. */
export function explainWriteFault(error: unknown): string {
  return readCode(error) === "ENOENT" ? "its folder does not exist" : explainFileFault(error);
}

export function isFileFault(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

export function readCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
