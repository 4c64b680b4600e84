/** Thrown if a copy cannot be made or read. The message is shown to the user of the command. */
export class CopyFault extends Error {
  override readonly name = "CopyFault";
}
