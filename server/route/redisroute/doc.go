// Package redisroute is the online table in Redis: standalone, behind Sentinel, or a Cluster.
//
// It decides nothing about presence and repeats nothing by itself; package route does. It is the only package that knows
// the Redis client.
package redisroute
