// Written by `tract setup opencode`; `tract setup opencode --undo` removes it.
// Each result of a tool is stored by tract, which may answer with a reference to it.
import { spawn } from "node:child_process"

const COMMAND = []
const MILLISECONDS = 3000

const ask = (event) =>
  new Promise((resolve) => {
    let answer = ""
    const done = () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(answer))
      } catch {
        resolve({})
      }
    }
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => {
      answer = ""
      child.kill()
      done()
    }, MILLISECONDS)
    child.on("error", done)
    child.on("close", done)
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (data) => (answer += data))
    child.stdin.end(JSON.stringify(event))
  })

export const Tract = async ({ directory }) => ({
  "tool.execute.after": async (input, output) => {
    if (!output) return
    const { tool, sessionID, callID, args } = input
    const event = { event: "tool.execute.after", tool, sessionID, callID, args, directory, output }
    Object.assign(output, await ask(event))
  },
  event: async ({ event }) => {
    if (event.type === "session.idle")
      await ask({ event: event.type, sessionID: event.properties?.sessionID, directory })
  },
})
