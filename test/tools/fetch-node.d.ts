/** Downloads a version of Node and returns the path of its program. */
export function fetchNode(version: string): string;
