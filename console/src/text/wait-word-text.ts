import { defineText } from "./define-text.ts";

/** Why a task waits, in a word or two: for the nodes of graphs. */
export const waitWordText = defineText({
  en: {
    "workflow-limit": "waits for a place",
    "instance-limit": "waits for a place",
    outside: "outside",
    paused: "paused",
    retry: "retry",
    "no-worker": "no worker",
    domain: "domain is full",
    slot: "no free slot",
    isolation: "runs alone later",
    engine: "server rests",
  },
  zh: {
    "workflow-limit": "等待名额",
    "instance-limit": "等待并发名额",
    outside: "等待外部完成",
    paused: "已暂停",
    retry: "重试",
    "no-worker": "无工作节点",
    domain: "业务域已满",
    slot: "无空闲槽位",
    isolation: "稍后单独运行",
    engine: "服务器暂停派发",
  },
});
